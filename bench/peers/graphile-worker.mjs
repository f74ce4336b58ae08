/**
 * graphile-worker on PostgreSQL, a queue only: each step adds the next. 50 at once; under load with a local queue of 500 and
 * batched completion, alone without. There is no join, so the steps of a fan are counted in a table, in sets. A fan is fastest here
 * with as many at once as it is wide.
 */
import { EventEmitter } from 'node:events'
import { Logger, run } from 'graphile-worker'
import pg from 'pg'
import { DurableJoin } from './durable-join.mjs'
import { callEach, counter, measure, stepsOfFive, Tally, until, url } from './peer-lap.mjs'

const ended = new Tally()
const [, , workload] = process.argv
const concurrency = workload === 'fan' ? 1000 : 50
const batching = {
  localQueue: { size: Math.max(500, concurrency) },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}

await measure(async () => {
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  const join = new DurableJoin(pool)
  await join.prepare()
  let fans = 0
  const events = new EventEmitter()
  // The job's row is gone then.
  events.on('job:complete', ({ job }) => {
    if (job.task_identifier === 'last' || job.payload?.step === stepsOfFive) ended.add()
  })
  const runner = await run({
    pgPool: pool,
    events,
    concurrency,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    preset: { worker: workload === 'latency' ? {} : batching },
    taskList: {
      five: async ({ step }, { addJob }) => {
        if (step < stepsOfFive) await addJob('five', { step: step + 1 })
      },
      first: async ({ width, fan }, { addJobs }) => {
        await join.begin(fan, width)
        await addJobs(Array.from({ length: width }, () => ({ identifier: 'middle', payload: { fan } })))
      },
      middle: async ({ fan }, { job, addJob }) => {
        if (await join.end(fan, [job.id])) await addJob('last', {}, { jobKey: `last-${fan}` })
      },
      last: async () => {},
    },
  })
  const jobs = counter(pool, 'select count(*) from graphile_worker._private_jobs')
  const runAlone = async (task, payload) => {
    const over = ended.more(1)
    await runner.addJob(task, payload)
    await over
  }
  return {
    async runMany(workflows) {
      const over = ended.more(workflows)
      await callEach(workflows, 50, () => runner.addJob('five', { step: 1 }))
      await over
      await until(async () => (await jobs()) === 0)
    },
    runOne: () => runAlone('five', { step: 1 }),
    runFan: width => runAlone('first', { width, fan: ++fans }),
    async close() {
      await runner.stop()
      await pool.end()
    },
  }
})
