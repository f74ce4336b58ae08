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
  /** Rounds in which the step was recorded before the stop took effect; they are done again as well. */
  readonly missed: number
}

const bodyMs = 150
/** A process that writes to a slow disk holds the lock of its file most of the time. */
const spareRounds = 15
const retakeTimeoutMs = 15_000

export async function stopRun(options: StopRunOptions): Promise<StopReport> {
  const access = await openAccess(options.url)
  const geneva = new Geneva({ database: options.url, workflows: loadWorkflows })
  const worker = { lease: options.leaseMs, poll: 50, concurrency: 10 }
  const fleet = new WorkerFleet({ url: options.url, options: worker, tellRefusals: true }, access)
  const retakenMs: number[] = []
  const failed = { blocked: 0, missed: 0 }
  try {
    await createJournal(access)
    await geneva.migrate()
    for (let i = 0; i < 2; i++) fleet.start()
    await fleet.allReady()
    while (retakenMs.length < options.rounds && failed.blocked + failed.missed < options.rounds + spareRounds) {
      const result = await stopOnce(geneva, access, fleet)
      if (typeof result === 'string') failed[result]++
      else if (retakenMs.push(result) % 10 === 0) options.say(`${retakenMs.length} of ${options.rounds} stops`)
    }
    await fleet.retire()
    const findings = auditStops(await readCrashRows(access), failed.blocked + failed.missed)
    return { findings, rounds: retakenMs.length, retakenMs, ...failed }
  } finally {
    await fleet.end()
    await geneva.close()
    await access.close()
  }
}

/** The time until another worker had done the work, or why the round does not count. */
async function stopOnce(
  geneva: Geneva,
  access: PlainAccess,
  fleet: WorkerFleet,
): Promise<number | 'blocked' | 'missed'> {
  const { id } = await geneva.start(LongStep, { input: { ms: bodyMs, onAbort: 'ignore' } })
  const begun = () => fleet.living.find(worker => worker.messages.some(message => message.began === id))
  const victim = await until(begun, 10_000)
  if (victim === null) throw new Error(`Nobody has begun workflow ${id}.`)
  // Whoever had claimed it was too slow for its lease, and another has taken it over before it began.
  if (!tells(victim, { began: id, attempt: 1 })) return 'missed'
  const stoppedAt = performance.now()
  victim.child.kill('SIGSTOP')
  try {
    const state = `select state from ${access.table('geneva_drive_workflows')} where id = ?`
    const isFinished = async () => (await access.query(state, [Number(id)]))[0]?.state === 'finished'
    const patience = access.kind === 'sqlite' ? 2000 : retakeTimeoutMs
    if (!(await until(isFinished, patience))) {
      if (access.kind === 'sqlite') return 'blocked'
      throw new Error(`Workflow ${id} was not retaken within ${patience} ms.`)
    }
  } finally {
    victim.child.kill('SIGCONT')
  }
  const retakenMs = Math.round(performance.now() - stoppedAt)
  if (await succeededAtOnce(access, id)) return 'missed'
  const late = () => tells(victim, { left: id, attempt: 1 }) && victim.messages.some(each => each.refused?.includes(id))
  if (!(await until(late, 10_000))) throw new Error(`The late result for workflow ${id} was not refused.`)
  return retakenMs
}

async function succeededAtOnce(access: PlainAccess, id: string): Promise<boolean> {
  const history = access.table('geneva_drive_step_executions')
  const first = `select outcome from ${history} where workflow_id = ? and node = 'linger' and attempt = 1`
  return (await access.query(first, [Number(id)]))[0]?.outcome === 'success'
}

function tells(worker: FleetWorker, wanted: { began?: string; left?: string; attempt: number }): boolean {
  return worker.messages.some(
    message => message.attempt === wanted.attempt && message.began === wanted.began && message.left === wanted.left,
  )
}

/** One success per step, the stopped attempt on record as recovered, nothing run after it was recorded. */
function auditStops(rows: CrashRows, uncounted: number): string[] {
  const findings: string[] = []
  // On a busy machine a second worker may be too slow for its short lease as well.
  const expected =
    /^linger 1 recovered(,linger \d recovered)*,linger \d success(,after \d recovered)*,after \d success$/
  const others = [...groupBy(rows.history, row => row.workflowId)].flatMap(([id, history]) => {
    const path = history.map(row => `${row.step} ${row.attempt} ${row.outcome}`).join()
    return expected.test(path) ? [] : [`Workflow ${id} went ${path}.`]
  })
  if (others.length > uncounted) findings.push(...others)
  for (const entry of rows.journal) {
    if (entry.tooLate) findings.push(`Workflow ${entry.workflowId} step ${entry.step} ran after it was recorded.`)
  }
  const calls = groupBy(rows.journal, entry => entry.executionId)
  for (const [id, entries] of calls) if (entries.length > 1) findings.push(`Execution ${id} ran twice.`)
  return findings
}
