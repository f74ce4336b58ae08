/** What people look at, on a SQL database: each read in a file of its own, gathered here behind the interface. */
import type { ExecutionFilter } from '../../execution-filter.ts'
import type { HeroKey } from '../../records.ts'
import type { AttemptRead, TallyRead, TimeRange, ViewFilter, ViewStore, WaitingPlace } from '../../view-store.ts'
import type { SqlContext } from '../context.ts'
import { text } from '../decode.ts'
import { sql } from '../sql.ts'
import { decisionsOn } from '../stored-messages.ts'
import { countOpenLetters, countPerforming, countState } from './count-states.ts'
import { idBounds } from './id-bounds.ts'
import { readAsides } from './read-asides.ts'
import { readAttempts } from './read-attempts.ts'
import { readBriefs } from './read-briefs.ts'
import { readDefinitions, readWorkers } from './read-processes.ts'
import { readWaiting } from './read-waiting.ts'
import { scanExecutions } from './scan-executions.ts'
import { countWorkflows, scanWorkflows } from './scan-workflows.ts'
import { heroTypes } from './search-workflows.ts'
import { eventsOf, latestEvents, sampleTook, tallyEvents } from './tally-events.ts'

interface Bounds {
  readonly limit: number
  readonly window: number
}

export class SqlViews implements ViewStore {
  readonly #context: SqlContext

  constructor(context: SqlContext) {
    this.#context = context
  }

  scan(filter: ViewFilter, bounds: Bounds) {
    return scanWorkflows(this.#context, filter, bounds)
  }
  count(filter: ViewFilter, bounds: Bounds) {
    return countWorkflows(this.#context, filter, bounds)
  }
  idBounds(range: TimeRange) {
    return idBounds(this.#context, range)
  }
  heroTypes() {
    return heroTypes(this.#context)
  }
  async heroIdKind(type: string) {
    const [row] = await this.#context.read(
      sql`select w.hero_id_kind as kind from ${this.#context.tables.workflows} w
        where w.hero_type = ${type} and w.hero_id is not null limit 1`,
    )
    return row === undefined ? null : (text(row, 'kind') as HeroKey['idKind'])
  }
  asides(workflowIds: readonly string[], withErrors: readonly string[]) {
    return readAsides(this.#context, workflowIds, withErrors)
  }
  attempts(read: AttemptRead) {
    return readAttempts(this.#context, read)
  }
  briefs(workflowId: string) {
    return readBriefs(this.#context, workflowId)
  }
  waiting(after: WaitingPlace | null, bounds: Bounds) {
    return readWaiting(this.#context, after, bounds)
  }
  executions(filter: ExecutionFilter, bounds: Bounds) {
    return scanExecutions(this.#context, filter, bounds)
  }
  async decisionsOn(executionIds: readonly string[]) {
    if (executionIds.length === 0) return []
    return decisionsOn(this.#context, statement => this.#context.read(statement), executionIds)
  }
  workers() {
    return readWorkers(this.#context)
  }
  definitions() {
    return readDefinitions(this.#context)
  }
  countState(state: string, cap: number) {
    return countState(this.#context, state, cap)
  }
  countPerforming(cap: number) {
    return countPerforming(this.#context, cap)
  }
  countOpenLetters(cap: number) {
    return countOpenLetters(this.#context, cap)
  }
  latestEvents(workflowIds: readonly string[], after: number) {
    return latestEvents(this.#context, workflowIds, after)
  }
  eventsOf(workflowIds: readonly string[], read: { after: number; limit: number; newest: boolean }) {
    return eventsOf(this.#context, workflowIds, read)
  }
  tallyEvents(read: TallyRead) {
    return tallyEvents(this.#context, read)
  }
  sampleTook(read: Pick<TallyRead, 'after' | 'upTo'>, limit: number) {
    return sampleTook(this.#context, read, limit)
  }
}
