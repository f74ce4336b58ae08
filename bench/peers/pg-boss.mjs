/**
 * pg-boss on PostgreSQL, a queue only: batches of 100 in four workers, NOTIFY and burst on. With PEER_VARIANT=batched the
 * handler sends the next steps of its whole batch in one call, and starts go in sets as well; otherwise one by one. There is no
 * join, so the steps of a fan are counted in memory, and the last is sent when all of them are recorded,
 * which is looked for every 2 ms.
 */
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { callEach, counter, measure, stepsOfFive, Tally, until, url } from './peer-lap.mjs'

const isBatched = process.env.PEER_VARIANT === 'batched'
const ended = new Tally()
const working = { batchSize: 100, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }

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
  let left = 0
  const handlers = {
    five: async jobs => {
      const next = jobs.filter(({ data }) => data.step < stepsOfFive).map(({ data }) => ({ step: data.step + 1 }))
      if (next.length > 0) await send('five', next)
      for (let last = jobs.length - next.length; last > 0; last--) ended.add()
    },
    first: ([{ data }]) => {
      left = data.width
      return boss.insert(
        'middle',
        Array.from({ length: data.width }, () => ({ data: {} })),
      )
    },
    middle: async jobs => {
      left -= jobs.length
      // What this call has is recorded after it has returned.
      if (left === 0) void until(async () => (await openMiddle()) === 0).then(() => boss.send('last', {}))
    },
    last: async () => ended.add(),
  }
  for (const [queue, handler] of Object.entries(handlers)) {
    await boss.createQueue(queue, { notify: true })
    await boss.work(queue, working, handler)
  }
  const client = new pg.Client(url)
  await client.connect()
  const open = counter(client, `select count(*) from pgboss.job where state <> 'completed'`)
  const openMiddle = counter(client, `select count(*) from pgboss.job where name = 'middle' and state <> 'completed'`)
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
    runFan: width => runAlone('first', { width }),
    async close() {
      await client.end()
      await boss.stop({ graceful: false })
    },
  }
})
