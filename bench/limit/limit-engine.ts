/**
 * Drives the limit like a worker would: what is ready while statements are under way goes with the next one, and at most
 * two of a kind are under way. `claims` says how a step is come by: `each` claims every step, `first` runs on after the
 * first, `none` starts claimed and runs on.
 */
import { setImmediate } from 'node:timers/promises'
import { claimed, due, type LimitRow, type LimitStore, lastStep, rowOf } from './limit-store.ts'

export type Claims = 'each' | 'first' | 'none'

const atOnce = 500
const statementsOfAKind = 2

/** Collects what arrives and hands it on in sets. */
class Batches<T> {
  readonly #send: (items: readonly T[]) => Promise<void>
  #waiting: T[] = []
  #underWay = 0

  constructor(send: (items: readonly T[]) => Promise<void>) {
    this.#send = send
  }

  add(items: readonly T[]): void {
    this.#waiting.push(...items)
    while (this.#underWay < statementsOfAKind && this.#waiting.length > 0) void this.#next()
  }

  async #next(): Promise<void> {
    this.#underWay++
    const items = this.#waiting.slice(0, atOnce)
    this.#waiting = this.#waiting.slice(atOnce)
    await this.#send(items)
    this.#underWay--
    // Whoever was told by this set may have something for the next.
    await setImmediate()
    this.add([])
  }
}

export class LimitEngine {
  readonly #store: LimitStore
  readonly #claims: Claims
  readonly #starts: Batches<number>
  readonly #finishes: Batches<LimitRow>
  #nextWorkflow = 1
  #due = 0
  #claiming = false
  #left = 0
  #over: () => void = () => {}
  #failed: (error: unknown) => void = () => {}

  constructor(store: LimitStore, claims: Claims) {
    this.#store = store
    this.#claims = claims
    this.#starts = new Batches(workflows => this.#start(workflows).catch(error => this.#failed(error)))
    this.#finishes = new Batches(rows => this.#finish(rows).catch(error => this.#failed(error)))
  }

  /** Starts so many and resolves when the last has durably ended. */
  runMany(workflows: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#left = workflows
      this.#over = resolve
      this.#failed = reject
      this.#starts.add(Array.from({ length: workflows }, () => this.#nextWorkflow++))
    })
  }

  async #start(workflows: readonly number[]): Promise<void> {
    await this.#store.start(workflows, this.#claims === 'none' ? claimed : due)
    if (this.#claims === 'none') this.#finishes.add(workflows.map(workflow => rowOf(workflow, 1)))
    else this.#becameDue(workflows.length)
  }

  async #finish(rows: readonly LimitRow[]): Promise<void> {
    const going = rows.filter(({ step }) => step < lastStep)
    await this.#store.finish(rows, this.#claims === 'each' ? due : claimed)
    this.#left -= rows.length - going.length
    if (this.#left === 0) this.#over()
    if (this.#claims === 'each') this.#becameDue(going.length)
    else if (going.length > 0) this.#finishes.add(going.map(({ workflow, step }) => rowOf(workflow, step + 1)))
  }

  #becameDue(count: number): void {
    this.#due += count
    if (!this.#claiming && this.#due > 0) void this.#claim().catch(error => this.#failed(error))
  }

  async #claim(): Promise<void> {
    this.#claiming = true
    while (this.#due > 0) {
      const rows = await this.#store.claim(atOnce)
      this.#due -= rows.length
      // The steps do nothing; whoever has claimed one has run it.
      this.#finishes.add(rows)
    }
    this.#claiming = false
  }
}
