/**
 * Workers that are stopped in mid-step for longer than their lease and then go on, as after a long pause of a machine:
 * another one must have taken over, and the late result must be refused.
 */
import { Geneva } from '../../../src/index.ts'
import { type CrashRows, readCrashRows } from './crash-audit.ts'
import { groupBy } from './group-by.ts'
import { createJournal } from './journal.ts'
import { LongStep, loadWorkflows } from './load-workflows.ts'
import { openAccess, type PlainAccess } from './plain-access.ts'
import { until } from './until.ts'
import { type FleetWorker, WorkerFleet } from './worker-fleet.ts'

export interface StopRunOptions {
  readonly url: string
  readonly rounds: number
  readonly leaseMs: number
  say(line: string): void
}

export interface StopReport {
  readonly findings: readonly string[]
  readonly rounds: number
  /** From the stop to the end of the workflow in other hands. */
  readonly retakenMs: readonly number[]
  /** Rounds in which the stopped process held the lock of a file, so that nobody could go on; they are done again. */
  readonly blocked: number
}

const bodyMs = 60
const retakeTimeoutMs = 15_000

export async function stopRun(options: StopRunOptions): Promise<StopReport> {
  const access = await openAccess(options.url)
  const geneva = new Geneva({ database: options.url, workflows: loadWorkflows })
  const worker = { lease: options.leaseMs, poll: 20, concurrency: 10 }
  const fleet = new WorkerFleet({ url: options.url, options: worker, tellRefusals: true }, access)
  const retakenMs: number[] = []
  let blocked = 0
  try {
    await createJournal(access)
    await geneva.migrate()
    for (let i = 0; i < 2; i++) fleet.start()
    await fleet.allReady()
    while (retakenMs.length < options.rounds && blocked <= options.rounds) {
      const ms = await stopOnce(geneva, access, fleet)
      if (ms === null) blocked++
      else if (retakenMs.push(ms) % 10 === 0) options.say(`${retakenMs.length} of ${options.rounds} stops`)
    }
    await fleet.retire()
    const findings = auditStops(await readCrashRows(access), blocked)
    return { findings, rounds: retakenMs.length, retakenMs, blocked }
  } finally {
    await fleet.end()
    await geneva.close()
    await access.close()
  }
}

/** The time until another worker had done the work, or `null` when the stopped one kept it from doing so. */
async function stopOnce(geneva: Geneva, access: PlainAccess, fleet: WorkerFleet): Promise<number | null> {
  const { id } = await geneva.start(LongStep, { input: { ms: bodyMs, onAbort: 'ignore' } })
  const victim = await until(() => fleet.living.find(worker => tells(worker, { began: id, attempt: 1 })), 10_000)
  if (victim === null) throw new Error(`Nobody has begun workflow ${id}.`)
  const stoppedAt = performance.now()
  victim.child.kill('SIGSTOP')
  try {
    const state = `select state from ${access.table('geneva_drive_workflows')} where id = ?`
    const isFinished = async () => (await access.query(state, [Number(id)]))[0]?.state === 'finished'
    const patience = access.kind === 'sqlite' ? 3000 : retakeTimeoutMs
    if (!(await until(isFinished, patience))) {
      if (access.kind === 'sqlite') return null
      throw new Error(`Workflow ${id} was not retaken within ${patience} ms.`)
    }
  } finally {
    victim.child.kill('SIGCONT')
  }
  const retakenMs = Math.round(performance.now() - stoppedAt)
  const late = () => tells(victim, { left: id, attempt: 1 }) && victim.messages.some(each => each.refused?.includes(id))
  if (!(await until(late, 10_000))) throw new Error(`The late result for workflow ${id} was not refused.`)
  return retakenMs
}

function tells(worker: FleetWorker, wanted: { began?: string; left?: string; attempt: number }): boolean {
  return worker.messages.some(
    message => message.attempt === wanted.attempt && message.began === wanted.began && message.left === wanted.left,
  )
}

/** One success per step, the stopped attempt on record as recovered, nothing run after it was recorded. */
function auditStops(rows: CrashRows, blocked: number): string[] {
  const findings: string[] = []
  const expected = ['linger 1 recovered', 'linger 2 success', 'after 1 success'].join()
  const others = [...groupBy(rows.history, row => row.workflowId)].flatMap(([id, history]) => {
    const path = history.map(row => `${row.step} ${row.attempt} ${row.outcome}`).join()
    return path === expected ? [] : [`Workflow ${id} went ${path}.`]
  })
  if (others.length > blocked) findings.push(...others)
  for (const entry of rows.journal) {
    if (entry.tooLate) findings.push(`Workflow ${entry.workflowId} step ${entry.step} ran after it was recorded.`)
  }
  const calls = groupBy(rows.journal, entry => entry.executionId)
  for (const [id, entries] of calls) if (entries.length > 1) findings.push(`Execution ${id} ran twice.`)
  return findings
}
