/**
 * What an application asks about its tables, and of them: where they stand, what is to be done, and doing it. It works the same
 * with `migrate: false`, under which nothing else changes them.
 */
import type { OpeningAim } from '../store/database-options.ts'
import type { SchemaPlan, Store } from '../store/store.ts'

type WithStore = <T>(work: (store: Store) => Promise<T>, aim?: OpeningAim) => Promise<T>

export class Schema {
  readonly #withStore: WithStore

  constructor(withStore: WithStore) {
    this.#withStore = withStore
  }

  /** The version of the tables, the one that this code needs, and the statements between them. Changes nothing, and makes no file. */
  async plan(): Promise<SchemaPlan> {
    return this.#withStore(store => store.planMigrations(), { plans: true })
  }

  /** Runs what is missing. Any number of processes may call it at once. */
  async bringUpToDate(): Promise<void> {
    await this.#withStore(store => store.migrate())
  }
}
