/** What operators ask: what stands still and why, how things fared, and whether all is well. */
import { describe, expect, it } from 'vitest'
import { defineSchedule, Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'

const minute = 60_000

class Known extends Workflow {
  static {
    this.step('go')
  }
  go() {}
}

class Strange extends Workflow {
  static {
    this.step('wonder')
  }
  wonder() {}
}

class Posted extends Workflow {
  static {
    this.jobOptions({ queue: 'mail' })
    this.step('post')
  }
  post() {}
}

class Broken extends Workflow {
  static {
    this.step('fail')
  }
  fail() {
    throw new TypeError('no')
  }
}

class Dead extends Workflow {
  static {
    this.step('fail', { onException: 'dlq' })
  }
  fail() {
    throw new TypeError('no')
  }
}

class Undone extends Workflow {
  static {
    this.step('book', { compensate: 'cancelBooking' })
    this.step('fail', { onException: 'rollback' })
  }
  book() {}
  cancelBooking(): void {
    this.reattempt({ wait: '2 hours' })
  }
  fail() {
    throw new TypeError('no')
  }
}

class DeadLater extends Workflow {
  static {
    this.step('fail', { wait: '2 hours', onException: 'dlq' })
  }
  fail() {
    throw new TypeError('no')
  }
}

class NotUndone extends Workflow {
  static {
    this.step('book', { compensate: { step: 'cancelBooking', retry: 1 } })
    this.step('pay', { compensate: 'refund', onException: 'rollback' })
  }
  book() {}
  cancelBooking() {
    throw new RangeError('never')
  }
  pay() {
    throw new TypeError('no')
  }
  refund() {}
}

class Flaky extends Workflow {
  static {
    this.step('calm')
    this.step('rough', { onException: 'skip' })
    this.step('angry', { onException: 'cancel' })
  }
  calm() {}
  rough() {
    throw new RangeError('rough')
  }
  angry() {
    throw new TypeError('angry')
  }
}

forEachDatabase('operating', database => {
  describe('stuck work', () => {
    const workflows = [Known, Strange, Broken]
    const late = defineSchedule('late', { every: '1 day', workflow: Known })
    const under = useGeneva(database, { workflows })

    it('is nothing in an idle database', async () => {
      expect(await under.geneva.stuck()).toEqual([])
    })

    it('is told with its reason: no worker with the code, not claimed, paused, a lost lease, a late schedule', async () => {
      const { geneva } = under
      const strange = await geneva.start(Strange)
      const broken = await geneva.start(Broken)
      const known = await geneva.start(Known, {}, { delay: '1 hour' })
      const knowing = under.another({ workflows: [Known, Broken], schedules: [late] })
      await knowing.runDue(quickly)
      expect((await broken.refresh()).state).toBe('paused')
      const store = await geneva.openedStore()
      await store.registerWorker({ id: 'w1', host: 'h', pid: 1, leaseMs: minute, handlers: ['Known'] })
      const plain = await connectPlainly(database.name, under.url)
      const held = await geneva.start(Known)
      await plain.query(
        `update geneva_drive_active_executions set state = 'in_progress', sort_key = null, owner = 'gone', started_at = 1
         where workflow_id = ${held.id}`,
      )
      await plain.close()
      await under.setClock(48 * 60 * minute)
      const found = await geneva.stuck({ for: '10 min' })
      expect(found.map(({ kind, workflowId, step }) => [kind, workflowId, step])).toEqual([
        ['no_worker', strange.id, 'wonder'],
        ['not_claimed', known.id, 'go'],
        ['lease_lost', held.id, 'go'],
        ['paused', broken.id, expect.anything()],
        ['schedule_late', null, null],
      ])
      expect(found.map(({ why }) => why)).toEqual([
        expect.stringContaining('no live worker has the code of Strange'),
        expect.stringContaining('no worker takes it'),
        expect.stringContaining('held by worker gone'),
        expect.stringContaining('Paused since'),
        expect.stringContaining('has not started Known'),
      ])
      expect(await geneva.stuck({ for: '3 days' })).toMatchObject([{ kind: 'lease_lost' }])
      expect(await geneva.stuck({ for: '10 min', limit: 1 })).toHaveLength(4)
    })
  })

  describe('stuck work that failed', () => {
    const under = useGeneva(database, { workflows: [Dead, Undone, DeadLater] })

    it('is told as a dead letter, and not at all while it is being undone', async () => {
      const { geneva } = under
      const dead = await geneva.start(Dead)
      const undone = await geneva.start(Undone)
      await under.runDue()
      expect((await dead.refresh()).state).toBe('dlq')
      expect((await undone.refresh()).state).toBe('rolling_back')
      const ofBoth = async () =>
        (await geneva.stuck())
          .filter(({ kind }) => kind !== 'no_worker')
          .map(({ kind, workflowId }) => [kind, workflowId])
      await under.setClock(20 * minute)
      expect(await ofBoth()).toEqual([['dlq', dead.id]])
      const [told] = (await geneva.stuck()).filter(({ kind }) => kind === 'dlq')
      expect(told?.why).toMatch(
        /^In the dead-letter queue since .* UTC, after step fail had failed\. Requeue its dead letter/,
      )
    })

    it('is in the dead letter queue since it came there, however old it is', async () => {
      const { geneva } = under
      await under.setClock(0)
      const dead = await geneva.start(DeadLater)
      await under.setClock(125 * minute)
      await under.runDue()
      expect((await dead.refresh()).state).toBe('dlq')
      const ofIt = async (options = {}) =>
        (await geneva.stuck(options)).filter(({ workflowId }) => workflowId === dead.id)
      expect(await ofIt()).toEqual([])
      const [told] = await ofIt({ for: 0 })
      expect((told?.since.getTime() ?? 0) - dead.createdAt.getTime()).toBeGreaterThanOrEqual(125 * minute)
      await under.setClock(140 * minute)
      expect(await ofIt()).toMatchObject([{ kind: 'dlq', since: told?.since }])
      await under.setClock(0)
    })
  })

  describe('stuck work in a paused queue', () => {
    const under = useGeneva(database, { workflows: [Known, Posted] })

    it('is told apart, with who paused the queue and why, and hides nothing else', async () => {
      const { geneva } = under
      const posted = await geneva.startMany(Posted, [{}, {}, {}])
      const known = await geneva.start(Known)
      await geneva.start(Posted, {}, { delay: '1 hour' })
      const store = await geneva.openedStore()
      const handlers = ['Known', 'Posted']
      await store.registerWorker({ id: 'w1', host: 'h', pid: 1, leaseMs: minute, handlers })
      await geneva.queues.pause('mail', { by: 'ann', reason: 'the provider is down' })
      await under.setClock(20 * minute)
      const found = await geneva.stuck()
      expect(found.map(({ kind, workflowId, queue }) => [kind, workflowId, queue])).toEqual([
        ['not_claimed', known.id, 'default'],
        ...posted.map(({ id }) => ['queue_paused', id, 'mail']),
      ])
      expect(found[1]?.why).toMatch(
        /^Step post is due since .* UTC, but queue mail was paused at .* UTC by ann: the provider is down\. Resume/,
      )
      const some = await geneva.stuck({ limit: 1 })
      expect(some.map(({ kind }) => kind)).toEqual(['not_claimed', 'queue_paused'])
      await geneva.queues.resume('mail')
      expect(new Set((await geneva.stuck()).map(({ kind }) => kind))).toEqual(new Set(['not_claimed']))
      await geneva.queues.pause('mail')
      expect((await geneva.stuck())[1]?.why).toMatch(/was paused at .* UTC\. Resume/)
    })
  })

  describe('stats', () => {
    const under = useGeneva(database, { workflows: [Known, Flaky, NotUndone] })

    it('count what ended in the stretch, by step, with what failed and how', async () => {
      const { geneva } = under
      await geneva.startMany(Flaky, [{}, {}, {}])
      await under.runDue()
      const stats = await geneva.stats({ since: '1 hour' })
      expect(stats).toMatchObject({ executions: 9, sampled: false, queues: [] })
      const calm = stats.slowest.find(({ step }) => step === 'calm')
      expect(calm).toMatchObject({ workflow: 'Flaky', executions: 3, failed: 0 })
      expect(stats.failures).toEqual([
        { workflow: 'Flaky', step: 'angry', outcome: 'canceled_by_exception', errorClass: 'TypeError', count: 3 },
      ])
      expect((await geneva.stats({ sample: 4 })).executions).toBe(4)
      expect((await geneva.stats({ sample: 4 })).sampled).toBe(true)
      expect((await geneva.stats({ since: new Date(Date.now() + minute) })).executions).toBe(0)
    })

    it('count as failures what has failed, and not what was done and could not be undone', async () => {
      const { geneva } = under
      await geneva.start(NotUndone)
      await under.runDue()
      const { failures, slowest } = await geneva.stats({ since: '1 hour' })
      expect(failures.filter(({ workflow }) => workflow === 'NotUndone')).toEqual([
        { workflow: 'NotUndone', step: 'pay', outcome: 'rolled_back_by_exception', errorClass: 'TypeError', count: 1 },
      ])
      expect(slowest.find(({ step }) => step === 'book')).toMatchObject({ failed: 0 })
    })

    it('give percentiles of durations and waits, exactly', async () => {
      const plain = await connectPlainly(database.name, under.url)
      const { id } = await under.geneva.start(Known)
      const ended = (await (await under.geneva.openedStore()).now()) + 1000
      const rows = Array.from({ length: 100 }, (_, index) => {
        const took = (index + 1) * 1000
        const started = ended - took
        const due = started - 2 * took
        return `(${10_000_000 + index}, ${id}, 'go', 'forward', ${index + 1}, 1, 'completed', 'success', 0, ${due}, ${started},
          ${ended}, 0, 0, '', '')`
      })
      await plain.query(
        `insert into geneva_drive_step_executions (id, workflow_id, node, kind, attempt, ordinal, state, outcome, created_at,
         due_at, started_at, ended_at, completed_iterations, runs, ancestry_hash, parents) values ${rows.join(', ')}`,
      )
      await plain.close()
      const stats = await under.geneva.stats({ since: new Date(ended / 1000) })
      expect(stats.slowest).toEqual([
        {
          workflow: 'Known',
          step: 'go',
          executions: 100,
          failed: 0,
          took: { p50: 50, p95: 95, p99: 99, max: 100, total: 5050 },
          waited: { p50: 100, p95: 190, p99: 198, max: 200, total: 10_100 },
        },
      ])
      expect(stats.bottlenecks).toEqual(stats.slowest)
      expect(stats.queues).toMatchObject([{ queue: 'default', handler: 'Known', due: 1 }])
    })
  })

  describe('health', () => {
    const under = useGeneva(database, { workflows: [Known] })

    it('is ok with a worker, and tells of what is due for long without one', async () => {
      const { geneva } = under
      const worker = await geneva.startWorker(quickly)
      expect(await geneva.health()).toMatchObject({
        live: true,
        ready: true,
        status: 'ok',
        problems: [],
        database: { reachable: true, error: null },
        workers: { alive: 1, here: 1, healthyHere: 1 },
        queues: { due: 0, oldestMs: null },
      })
      await worker.stop()
      await geneva.start(Known)
      await under.setClock(10 * minute)
      const health = await geneva.health()
      expect(health).toMatchObject({
        ready: true,
        status: 'degraded',
        workers: { alive: 0, here: 0 },
        queues: { due: 1 },
      })
      expect(health.problems).toEqual([
        'No worker is alive, in any process.',
        expect.stringMatching(/^Known in queue default is due for \d+ ms/),
      ])
    })

    it('is down, and says why, when the tables are missing or the instance is closed', async () => {
      const { url } = await database.isolated()
      await using without = new Geneva({ database: url, migrate: false })
      expect(await without.health()).toMatchObject({
        live: true,
        ready: false,
        status: 'down',
        problems: [expect.stringContaining('geneva migrate')],
      })
      const closed = under.another()
      await closed.close()
      expect(await closed.health()).toMatchObject({ ready: false, status: 'down' })
    })
  })
})
