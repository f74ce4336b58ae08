/**
 * pg-boss on PostgreSQL, a queue only: batches of 100 in four workers, NOTIFY and burst on. With PEER_VARIANT=batched the
 * handler sends the next steps of its whole batch in one call, and starts go in sets as well; otherwise one by one. There is no
 * join, so the steps of a fan are counted in a table, a batch at a time; it is fastest here in batches of 500 in two workers.
 */
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { DurableJoin } from './durable-join.mjs'
import { callEach, counter, measure, stepsOfFive, Tally, until, url } from './peer-lap.mjs'

const isBatched = process.env.PEER_VARIANT === 'batched'
const ended = new Tally()
const batches =
  process.argv[2] === 'fan' ? { batchSize: 500, localConcurrency: 2 } : { batchSize: 100, localConcurrency: 4 }
const working = { ...batches, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }

await measure(async () => {
  const boss = new PgBoss({ connectionString: url, useListenNotify: true, max: 20, supervise: false, schedule: false })
  boss.on('error', error => process.stderr.write(`${error}\n`))
  await boss.start()
  const send = (queue, all) =>
    isBatched
      ? boss.insert(
          queue,
          all.map(data => ({ data })),
        )
      : Promise.all(all.map(data => boss.send(queue, data)))
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  const join = new DurableJoin(pool)
  await join.prepare()
  let fans = 0
  const handlers = {
    five: async jobs => {
      const next = jobs.filter(({ data }) => data.step < stepsOfFive).map(({ data }) => ({ step: data.step + 1 }))
      if (next.length > 0) await send('five', next)
      for (let last = jobs.length - next.length; last > 0; last--) ended.add()
    },
    first: async ([{ data }]) => {
      const { width, fan } = data
      await join.begin(fan, width)
      await boss.insert(
        'middle',
        Array.from({ length: width }, () => ({ data: { fan } })),
      )
    },
    middle: async jobs => {
      const { fan } = jobs[0].data
      const ids = jobs.map(({ id }) => id)
      if (await join.end(fan, ids)) await boss.send('last', {}, { singletonKey: `last-${fan}` })
    },
    last: async () => ended.add(),
  }
  for (const [queue, handler] of Object.entries(handlers)) {
    await boss.createQueue(queue, { notify: true })
    await boss.work(queue, working, handler)
  }
  const open = counter(pool, `select count(*) from pgboss.job where state <> 'completed'`)
  const runAlone = async (queue, data) => {
    const over = ended.more(1)
    await boss.send(queue, data)
    await over
  }
  return {
    async runMany(workflows) {
      const over = ended.more(workflows)
      if (isBatched) {
        for (let from = 0; from < workflows; from += 500) {
          await send('five', Array(Math.min(500, workflows - from)).fill({ step: 1 }))
        }
      } else {
        await callEach(workflows, 50, () => boss.send('five', { step: 1 }))
      }
      await over
      await until(async () => (await open()) === 0)
    },
    runOne: () => runAlone('five', { step: 1 }),
    runFan: width => runAlone('first', { width, fan: ++fans }),
    async close() {
      await boss.stop({ graceful: false })
      await pool.end()
    },
  }
})
