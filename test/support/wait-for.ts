/** Waiting in tests: looks again every few milliseconds until an answer is there, and fails when it takes too long. */
import { until } from '../programs/harness/until.ts'

/** Resolves with the first answer that is neither `false` nor `null` nor `undefined`. */
export async function waitFor<T>(
  look: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<Exclude<T, false | null | undefined>> {
  const answer = await until(look, timeoutMs)
  if (answer === null) throw new Error(`Nothing came of it within ${timeoutMs} ms: ${look}`)
  return answer
}

/** A promise that a test settles itself, to hold a step until the test has looked. */
export interface Gate<T = void> {
  readonly passed: Promise<T>
  open(value: T): void
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {}
  const passed = new Promise<T>(resolve => {
    open = resolve
  })
  return { passed, open }
}

/** Steps that stop at a gate and tell that they are there, by name, so that each test has its own. */
export class Gates {
  readonly #arrived = new Map<string, Gate<AbortSignal>>()
  readonly #open = new Map<string, Gate>()

  /** Called inside a step: announces it and waits until the test lets it go. */
  async stop(name: string, signal: AbortSignal): Promise<void> {
    this.#get(this.#arrived, name).open(signal)
    await this.#get(this.#open, name).passed
  }

  /** Resolves when the step has arrived, with the signal that it was given. */
  arrived(name: string): Promise<AbortSignal> {
    return this.#get(this.#arrived, name).passed
  }

  open(name: string): void {
    this.#get(this.#open, name).open()
  }

  #get<T>(gates: Map<string, Gate<T>>, name: string): Gate<T> {
    const known = gates.get(name) ?? gate<T>()
    gates.set(name, known)
    return known
  }
}
