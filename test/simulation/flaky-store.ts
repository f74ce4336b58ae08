/** A store whose connection breaks on demand: before a change is made, or after it and before the answer. */
import type { Store } from '../../src/store/store.ts'

export type Breakage = 'before' | 'after'

export class BrokenConnection extends Error {
  override readonly name = 'BrokenConnection'
}

export interface FlakyStore {
  readonly store: Store
  /** The next change meets it. */
  breakOnce(when: Breakage): void
}

export function flakyStore(real: Store): FlakyStore {
  let next: Breakage | null = null
  const change: Store['change'] = async (...given) => {
    const now = next
    next = null
    if (now === 'before') throw new BrokenConnection()
    const changes = await real.change(...given)
    if (now === 'after') throw new BrokenConnection()
    return changes
  }
  const own: Partial<Store> = {
    change,
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
  }
}
