/** Retries: the step's own attempts come before its exception policy. */
import { beforeEach, expect, it } from 'vitest'
import { defineJob, PermanentError, RetryableError, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls = new Map<string, number>()
let errorFor: (call: number) => unknown = () => null

function call(name: string): void {
  const count = (calls.get(name) ?? 0) + 1
  calls.set(name, count)
  const error = errorFor(count)
  if (error) throw error
}

class Retried extends Workflow {
  static {
    this.named('retried')
    this.defaults({ retry: { attempts: 2, backoff: 'fixed', delay: 0, jitter: false } })
    this.step('own', { retry: { attempts: 4, backoff: 'fixed', delay: 0, jitter: false }, onException: 'skip' })
    this.step('byClass')
  }
  async own() {
    call('own')
  }
  async byClass() {
    call('byClass')
  }
}

class Waiting extends Workflow {
  static {
    this.named('waiting-retry')
    this.step('only', { retry: { attempts: 3, jitter: false } })
  }
  async only() {
    call('only')
  }
}

let asked = 0
const soon = { backoff: 'fixed', delay: 0, jitter: false } as const

/** Its policy is a function, and so is that of the job. */
function picked(): { readonly policy: 'reattempt'; readonly limit: 2; readonly then: 'cancel' } {
  asked++
  return { policy: 'reattempt', limit: 2, then: 'cancel' }
}

class Asked extends Workflow {
  static {
    this.named('asked-after-retries')
    this.step('only', { retry: { attempts: 3, ...soon }, onException: picked })
  }
  async only() {
    call('only')
  }
}

const job = defineJob('asked-job', { retry: { attempts: 3, ...soon }, onException: picked }, async () => call('only'))

forEachDatabase('a retry', database => {
  const under = useGeneva(database, { workflows: [Retried, Waiting, Asked], jobs: [job] })

  beforeEach(async () => {
    calls.clear()
    asked = 0
    errorFor = () => null
    await under.setClock(0)
  })

  it('calls the step so many times in all, each a row of its own, before the policy acts', async () => {
    errorFor = () => new Error('down')
    const wf = await under.geneva.start(Retried)
    await under.runDue()
    expect(Object.fromEntries(calls)).toEqual({ own: 4, byClass: 2 })
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).map(row => [row.step, row.attempt, row.state, row.outcome])).toEqual([
      ['own', 1, 'failed', 'reattempted_by_exception'],
      ['own', 2, 'failed', 'reattempted_by_exception'],
      ['own', 3, 'failed', 'reattempted_by_exception'],
      ['own', 4, 'skipped', 'skipped_by_exception'],
      ['byClass', 1, 'failed', 'reattempted_by_exception'],
      ['byClass', 2, 'failed', 'paused_by_exception'],
    ])
    expect(await wf.verifyHistory()).toBeNull()
  })

  it('starts to count anew after a resume', async () => {
    errorFor = count => (count <= 2 ? new Error('down') : null)
    const wf = await under.geneva.start(Retried)
    calls.set('own', 100)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('waits longer each time, and no worker is kept meanwhile', async () => {
    errorFor = () => new Error('down')
    const wf = await under.geneva.start(Waiting)
    await under.runDue()
    const dueIn = async () => {
      const [row] = await wf.currentExecutions()
      const [last] = (await wf.history()).filter(each => each.endedAt !== null).slice(-1)
      return row && last?.endedAt ? Math.round((row.scheduledFor.getTime() - last.endedAt.getTime()) / 100) / 10 : null
    }
    expect(await dueIn()).toBe(2)
    await under.setClock(3000)
    await under.runDue()
    expect(await dueIn()).toBe(4)
    expect(calls.get('only')).toBe(2)
  })

  it('is skipped for an error that is permanent, and goes by what a retryable one asks for', async () => {
    errorFor = () => new PermanentError('no such card')
    const permanent = await under.geneva.start(Waiting)
    await under.runDue()
    expect((await permanent.refresh()).state).toBe('paused')
    expect(calls.get('only')).toBe(1)
    errorFor = () => new RetryableError('busy', { retryAfter: '1 hour' })
    const retryable = await under.geneva.start(Waiting)
    await under.runDue()
    const [row] = await retryable.currentExecutions()
    const [last] = (await retryable.history()).filter(each => each.endedAt !== null)
    expect(Math.round(((row?.scheduledFor.getTime() ?? 0) - (last?.endedAt?.getTime() ?? 0)) / 1000)).toBe(3600)
  })

  const plain = new Error('down')
  const permanent = new PermanentError('no such card')
  it.each([
    ['that may be retried', () => plain, { calls: 5, asked: 3 }],
    ['that is permanent', () => permanent, { calls: 3, asked: 3 }],
    ['that is permanent after a retry', (n: number) => (n === 1 ? plain : permanent), { calls: 4, asked: 3 }],
    ['that may be retried after a permanent one', (n: number) => (n === 1 ? permanent : plain), { calls: 3, asked: 3 }],
  ])('comes before the policy is asked, whose limit counts what is left to it: an error %s', async (_, throws, sum) => {
    errorFor = throws
    const ofClass = await under.geneva.start(Asked)
    await under.runDue()
    expect({ calls: calls.get('only'), asked }).toEqual(sum)
    expect((await ofClass.refresh()).state).toBe('canceled')
    calls.clear()
    asked = 0
    const ofJob = await under.geneva.startGraph(under.geneva.build(w => w.node('only', { job })))
    await under.runDue()
    expect({ calls: calls.get('only'), asked }).toEqual(sum)
    expect((await ofJob.refresh()).state).toBe('canceled')
  })
})
