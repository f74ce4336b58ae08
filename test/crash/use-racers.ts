/** Two processes for one describe block, made to do the same thing at the same instant, round after round. */
import { afterAll, beforeAll } from 'vitest'
import { Geneva } from '../../src/index.ts'
import { Contest } from '../programs/harness/contest.ts'
import type { RaceResult, RaceRound } from '../programs/racer.ts'
import type { IsolatedDatabase, TestDatabase } from '../support/databases.ts'
import { type Program, spawnProgram } from '../support/spawn-program.ts'

/** Time for the message to arrive in both. */
const headStartMs = 3

export class Race {
  readonly #database: TestDatabase
  #isolated: IsolatedDatabase | null = null
  #geneva: Geneva | null = null
  #racers: Program[] = []

  constructor(database: TestDatabase) {
    this.#database = database
  }

  get geneva(): Geneva {
    if (this.#geneva === null) throw new Error('The race has not begun yet.')
    return this.#geneva
  }

  async open(): Promise<void> {
    this.#isolated = await this.#database.isolated()
    this.#geneva = new Geneva({ database: this.#isolated.url, workflows: [Contest] })
    await this.#geneva.migrate()
    this.#racers = ['one', 'two'].map(name => spawnProgram('racer', [this.#isolated?.url ?? '', name]))
    await Promise.all(this.#racers.map(racer => racer.nextMessage()))
  }

  /** The results of both, in the order of the processes. */
  async round(kind: RaceRound['kind']): Promise<RaceResult[]> {
    const round: RaceRound = { kind, at: Date.now() + headStartMs }
    for (const racer of this.#racers) racer.send(round)
    return Promise.all(this.#racers.map(racer => racer.nextMessage<RaceResult>()))
  }

  async close(): Promise<void> {
    for (const racer of this.#racers) racer.kill()
    await this.#geneva?.close()
    await this.#isolated?.drop()
  }
}

export function useRacers(database: TestDatabase): Race {
  const race = new Race(database)
  beforeAll(() => race.open())
  afterAll(() => race.close())
  return race
}
