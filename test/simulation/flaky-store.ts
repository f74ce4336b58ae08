/** A store whose connection breaks on demand: before a change is made, or after it and before the answer. */
import type { Store } from '../../src/store/store.ts'

export type Breakage = 'before' | 'after'

export class BrokenConnection extends Error {
  override readonly name = 'BrokenConnection'
}

export interface FlakyStore {
  readonly store: Store
  /** The next change meets it, unless it is mended before. */
  breakOnce(when: Breakage): void
  mend(): void
}

export function flakyStore(real: Store): FlakyStore {
  let next: Breakage | null = null
  const breaking = async <T>(make: () => Promise<T>): Promise<T> => {
    const now = next
    next = null
    if (now === 'before') throw new BrokenConnection()
    const made = await make()
    if (now === 'after') throw new BrokenConnection()
    return made
  }
  const own: Partial<Store> = {
    change: (...given) => breaking(() => real.change(...given)),
    changeAssumed: (...given) => breaking(() => real.changeAssumed(...given)),
    isLasting: error => !(error instanceof BrokenConnection) && real.isLasting(error),
  }
  const store = new Proxy(real, {
    get(target, name: keyof Store) {
      if (own[name] !== undefined) return own[name]
      const member: unknown = target[name]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  return {
    store,
    breakOnce: when => {
      next = when
    },
    mend: () => {
      next = null
    },
  }
}
