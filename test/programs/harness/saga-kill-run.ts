/**
 * Random sagas in several processes that are killed, with people who decide, send signals, resume, requeue, and cancel
 * some of them; then an audit of every history: what was done is undone once, in reverse, one at a time.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { Geneva, isGenevaError, type WorkerOptions } from '../../../src/index.ts'
import { auditEnded, auditStanding, readStanding } from '../../simulation/saga-tables.ts'
import { describeStuck, leftWorkers, waitForBurials } from './kill-run.ts'
import { openAccess, type PlainAccess } from './plain-access.ts'
import { runningSaga } from './saga-workflows.ts'
import { type Random, seededRandom } from './seeded-random.ts'
import { type Death, WorkerFleet } from './worker-fleet.ts'

export interface SagaKillOptions {
  readonly url: string
  readonly seed: number
  readonly kills: number
  /** How many sagas of each graph, and how many graphs. */
  readonly copies: number
  readonly graphs: number
  readonly workers: number
  readonly options: WorkerOptions
  readonly bodyMs: readonly [number, number]
}

export interface SagaKillReport {
  readonly findings: readonly string[]
  readonly deaths: readonly Death[]
  /** How many ended how. */
  readonly ends: ReadonlyMap<string, number>
  readonly undone: number
  /** Attempts that were taken over from the dead, forward and backward. */
  readonly takenOver: number
}

const endTimeoutMs = 60_000

export async function sagaKillRun(options: SagaKillOptions): Promise<SagaKillReport> {
  const { url, seed, bodyMs, graphs } = options
  const access = await openAccess(url)
  const seeds = Array.from({ length: graphs }, (_, index) => seed * 1000 + index)
  const sagas = seeds.map(each => runningSaga(each))
  const geneva = new Geneva({ database: url, workflows: sagas.map(({ workflow }) => workflow) })
  const fleet = new WorkerFleet({ url, seeds, bodyMs, options: options.options }, access, 'saga-worker')
  const run = new SagaKillRun(geneva, access, seededRandom(seed))
  try {
    await geneva.migrate()
    for (let count = 0; count < options.workers; count++) fleet.start()
    await fleet.allReady()
    for (const { workflow } of sagas) {
      run.ids.push(
        ...(
          await geneva.startMany(
            workflow,
            Array.from({ length: options.copies }, () => ({})),
          )
        ).map(({ id }) => id),
      )
    }
    await run.killAll(fleet, options.kills)
    const stuck = await run.bringToEnd()
    const left = [...stuck, ...(await waitForBurials(access, fleet))]
    await fleet.retire()
    const findings = [...left, ...(await leftWorkers(access)), ...(await run.audit(sagas)), ...complaints(fleet)]
    return { findings, deaths: fleet.deaths, ...(await run.tally()) }
  } finally {
    await fleet.end()
    await geneva.close()
    await access.close()
  }
}

/** What no body has thrown on purpose. */
function complaints({ errors, stderr }: WorkerFleet): string[] {
  const unasked = errors.filter(({ error }) => !error.startsWith('SagaTrouble'))
  return [
    ...unasked.map(({ step, error }) => `${step === null ? 'A worker' : `Step ${step}`} threw ${error}`),
    ...(stderr === '' ? [] : [`The workers printed: ${stderr}`]),
  ]
}

class SagaKillRun {
  readonly ids: string[] = []
  readonly #geneva: Geneva
  readonly #access: PlainAccess
  readonly #random: Random

  constructor(geneva: Geneva, access: PlainAccess, random: Random) {
    this.#geneva = geneva
    this.#access = access
    this.#random = random
  }

  async killAll(fleet: WorkerFleet, kills: number): Promise<void> {
    for (let count = 0; count < kills; count++) {
      await pause(this.#random.between(50, 300))
      await this.#help()
      await this.#interfere()
      await fleet.allReady()
      await fleet.kill(this.#random.pick(fleet.killable))
      fleet.start()
    }
  }

  /** Somebody cancels or aborts one of them. */
  async #interfere(): Promise<void> {
    const id = this.#random.pick(this.ids)
    const kind = this.#random.pick(['cancel', 'cancel', 'cancel', 'abort'] as const)
    await allowed(this.#geneva[kind](id, { by: 'ann', reason: 'because' }))
  }

  /** People do what only people can: they decide, send, resume and requeue. */
  async #help(): Promise<void> {
    const active = this.#access.table('geneva_drive_active_executions')
    const workflows = this.#access.table('geneva_drive_workflows')
    const waiting = await this.#access.query(`select id, workflow_id, node from ${active} where state = 'waiting'`)
    for (const { id, workflow_id, node } of waiting) {
      const isHuman = String(node).startsWith('human')
      const decision = this.#random.between(0, 5) === 0 ? 'rejected' : 'confirmed'
      for (const by of isHuman ? ['ann', 'bob'] : []) {
        await allowed(this.#geneva.decide(String(id), { by, decision } as never))
      }
      if (!isHuman) await allowed(this.#geneva.signal(String(workflow_id), String(node), null))
    }
    const paused = await this.#access.query(`select id from ${workflows} where state = 'paused'`)
    for (const { id } of paused) await allowed(this.#geneva.resume(String(id)))
    const letters = this.#access.table('geneva_drive_dead_letters')
    const open = await this.#access.query(`select id from ${letters} where state = 'open' and kind = 'forward'`)
    for (const { id } of open) await allowed(this.#geneva.requeue(String(id)))
  }

  async bringToEnd(): Promise<string[]> {
    const until = performance.now() + endTimeoutMs
    const ended = `('finished', 'failed', 'canceled', 'aborted')`
    const workflows = this.#access.table('geneva_drive_workflows')
    for (;;) {
      const open = await this.#access.query(`select id, state from ${workflows} where state not in ${ended}`)
      if (open.length === 0) return []
      if (performance.now() > until) return [JSON.stringify(open), ...(await describeStuck(this.#access))]
      await this.#help()
      await pause(50)
    }
  }

  async audit(sagas: readonly { readonly graph: Parameters<typeof auditEnded>[1] }[]): Promise<string[]> {
    const graphs = new Map(sagas.map(({ graph }) => [graph.type, graph]))
    const table = this.#access.table('geneva_drive_workflows')
    const { findings } = await this.#geneva.doctor()
    const all = findings.map(({ workflowId, problem }) => `Workflow ${workflowId}: the doctor says: ${problem}`)
    for (const { id, type } of await this.#access.query(`select id, type from ${table}`)) {
      const graph = graphs.get(String(type))
      if (graph === undefined) continue
      const flaw = await this.#geneva.verifyHistory(String(id))
      const found = [
        ...auditStanding(await readStanding(this.#access, String(id))),
        ...(await auditEnded(this.#access, graph, String(id))),
        ...(flaw ? [`${flaw.node}#${flaw.attempt} does not fit: ${flaw.reason}`] : []),
      ]
      all.push(...found.map(finding => `Workflow ${id} (${type}): ${finding}`))
    }
    return all
  }

  async tally(): Promise<Pick<SagaKillReport, 'ends' | 'undone' | 'takenOver'>> {
    const history = this.#access.table('geneva_drive_step_executions')
    const workflows = this.#access.table('geneva_drive_workflows')
    const states = await this.#access.query(`select state, count(*) as number from ${workflows} group by state`)
    const outcomes = await this.#access.query(`select outcome, count(*) as number from ${history} group by outcome`)
    const count = (outcome: string) => Number(outcomes.find(row => row.outcome === outcome)?.number ?? 0)
    return {
      ends: new Map(states.map(({ state, number }) => [String(state), Number(number)])),
      undone: count('compensated'),
      takenOver: count('recovered'),
    }
  }
}

/** What comes too late is refused, and that is all right. */
async function allowed(request: Promise<unknown>): Promise<void> {
  // A decision may come when its node has been canceled.
  const refusals = ['INVALID_STATE', 'ALREADY_DECIDED', 'INVALID_ARGUMENT'] as const
  await request.catch(error => {
    if (!refusals.some(code => isGenevaError(error, code))) throw error
  })
}
