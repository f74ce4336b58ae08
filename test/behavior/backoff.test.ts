/**
 * What follows from an error, and when, by what the database holds: the waits between attempts, nothing before its time, no
 * wait at all after an error that is permanent, and a workflow that is never called failed while a retry is still to come.
 */
import { beforeEach, expect, it } from 'vitest'
import { type GenevaEvent, PermanentError, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

let calls = 0
let failUntil = Number.POSITIVE_INFINITY
let look: () => Promise<void> = async () => {}

async function attempt(): Promise<string> {
  calls++
  await look()
  if (calls < failUntil) throw new Error(`down for the ${calls}th time`)
  return 'up'
}

class Patient extends Workflow {
  static {
    this.step('call', { retry: { attempts: 8, jitter: false } })
    this.step('after')
  }
  call() {
    return attempt()
  }
  after() {
    return 'done'
  }
}

class Hasty extends Workflow {
  static {
    this.step('call', { retry: { attempts: 6, backoff: 'fixed', delay: '30ms', jitter: false } })
  }
  call() {
    return attempt()
  }
}

const never = async () => {
  calls++
  throw new PermanentError('no such card')
}
const retry = { attempts: 3, delay: '1 hour', maxDelay: '1 day' } as const

abstract class Refused extends Workflow {
  call() {
    return never()
  }
  after() {}
}
class Paused extends Refused {
  static {
    this.step('call', { retry })
    this.step('after')
  }
}
class Skipped extends Refused {
  static {
    this.step('call', { retry, onException: 'skip' })
    this.step('after')
  }
}
class Canceled extends Refused {
  static {
    this.step('call', { retry, onException: 'cancel' })
    this.step('after')
  }
}
class Buried extends Refused {
  static {
    this.step('call', { retry, onException: 'dlq' })
    this.step('after')
  }
}

const permanent = [
  [Paused, 'paused', 'paused_by_exception'],
  [Skipped, 'finished', 'skipped_by_exception'],
  [Canceled, 'canceled', 'canceled_by_exception'],
  [Buried, 'dlq', 'dead_lettered'],
] as const

const second = 1_000_000

forEachDatabase('an error', database => {
  const workflows = [Patient, Hasty, Paused, Skipped, Canceled, Buried]
  const under = useGeneva(database, { workflows })

  beforeEach(async () => {
    calls = 0
    failUntil = Number.POSITIVE_INFINITY
    look = async () => {}
    await under.setClock(0)
  })

  it('is tried again after 2, 4, 8, 16, 30 and 30 seconds, counted from its end by the database', async () => {
    const store = await under.geneva.openedStore()
    const wf = await under.geneva.start(Patient)
    const waits: number[] = []
    for (let clock = 0; waits.length < 6; ) {
      await under.runDue()
      const [row] = await store.activeExecutions(wf.id)
      const failed = (await store.history(wf.id)).at(-1)
      expect(row).toMatchObject({ state: 'scheduled', attempt: waits.length + 2, failures: waits.length + 1 })
      const wait = (row?.dueAt ?? 0) - (failed?.endedAt ?? 0)
      waits.push(Math.floor(wait / second))
      // A moment may pass between the two, never the other way.
      expect(wait % second).toBeLessThan(second / 2)
      expect(await under.runDue(), 'before its time').toBe(0)
      clock += Math.ceil(wait / 1000)
      await under.setClock(clock)
    }
    expect(waits).toEqual([2, 4, 8, 16, 30, 30])
    await wf.cancel()
  })

  it('is tried again not a microsecond early, however eagerly workers look', async () => {
    const workers = await Promise.all([1, 2, 3].map(() => under.another().startWorker({ ...quickly, poll: 1 })))
    failUntil = 6
    const wf = await under.geneva.start(Hasty)
    expect(await wf.waitUntilFinished({ timeout: '20s' })).toBe('up')
    const rows = await (await under.geneva.openedStore()).history(wf.id)
    expect(rows.map(row => row.attempt)).toEqual([1, 2, 3, 4, 5, 6])
    for (const [index, row] of rows.entries()) {
      expect(row.startedAt ?? 0).toBeGreaterThanOrEqual(row.dueAt)
      if (index > 0) expect(row.dueAt - (rows[index - 1]?.endedAt ?? 0)).toBeGreaterThanOrEqual(30_000)
    }
    await Promise.all(workers.map(worker => worker.stop()))
  })

  it.each(permanent)('that is permanent acts at once, at attempt 1 of 3: %o', async (workflow, state, outcome) => {
    const wf = await under.geneva.start(workflow)
    await under.runDue()
    expect([calls, (await wf.refresh()).state]).toEqual([1, state])
    const [first] = await wf.history()
    expect(first).toMatchObject({ step: 'call', attempt: 1, outcome, error: { className: 'PermanentError' } })
    const store = await under.geneva.openedStore()
    const later = (await store.activeExecutions(wf.id)).filter(row => row.state === 'scheduled')
    expect(later, 'nothing waits for a later time').toEqual([])
  })

  it('that is tried again never lets the workflow be called failed, at no moment and to nobody', async () => {
    const heard: GenevaEvent[] = []
    const stop = under.geneva.on('*', event => void heard.push(event))
    const wf = await under.geneva.start(Patient)
    const other = await under.another().find(wf.id)
    if (other === null) throw new Error('not found')
    const seen = new Map<string, Set<unknown>>()
    const note = (what: string, value: unknown) => seen.set(what, (seen.get(what) ?? new Set()).add(value))
    // It only notes: what is thrown inside the step would be one more error that is tried again.
    look = async () => {
      note('state', (await other.refresh()).state)
      const { decision, sentence, nodes } = await other.explain()
      note('decision', decision)
      note('said to be paused', /paused|given up/.test(sentence))
      note('retryable', nodes[0]?.retryable)
      for (const { reasons } of nodes) for (const { kind } of reasons) note('reason', kind)
      note('stopped', await under.geneva.all({ workflow: Patient, state: ['paused', 'dlq'] }).count())
      note('letters', (await under.geneva.deadLetters({ workflowId: wf.id })).length)
    }
    failUntil = 7
    for (let clock = 0; clock <= 240_000; clock += 40_000) {
      await under.setClock(clock)
      await under.runDue()
      if ((await other.refresh()).state !== 'finished') await look()
    }
    expect(calls).toBe(7)
    expect(Object.fromEntries([...seen].map(([what, values]) => [what, [...values].toSorted()]))).toEqual({
      state: ['performing', 'ready'],
      decision: ['processing', 'waiting_for_dependencies'],
      'said to be paused': [false],
      retryable: [true],
      reason: ['backoff', 'claimed', 'dependencies'],
      stopped: [0],
      letters: [0],
    })
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe('done')
    stop()
    // Every change of state leaves an event in the same transaction, so this is every moment there was.
    const moves = (await wf.events()).filter(event => event.type.startsWith('workflow.'))
    expect(moves.map(({ type, to }) => [type, to])).toEqual([
      ['workflow.started', 'ready'],
      ['workflow.finished', 'finished'],
    ])
    const types = heard.filter(event => event.workflowId === wf.id).map(({ type }) => type)
    expect(types.filter(type => type === 'step.failed')).toHaveLength(6)
    expect(types.filter(type => type.startsWith('workflow.'))).toEqual(['workflow.started', 'workflow.finished'])
  })
})
