/**
 * BullMQ on a Redis that writes every command to disk before it answers, a queue only: each step adds the next, 200 at
 * once. A fan is its own flow: a parent behind so many children.
 */
import { FlowProducer, Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { findProgram, installPackages } from '../../scripts/system-programs.mjs'
import { freePort, startOwnServer } from './own-server.mjs'
import { callEach, measure, stepsOfFive, Tally } from './peer-lap.mjs'

const ended = new Tally()

async function redisServer() {
  if (findProgram('redis-server') === undefined) await installPackages('redis-server')
  return findProgram('redis-server') ?? 'redis-server'
}

await measure(async () => {
  const program = await redisServer()
  const port = await freePort()
  const network = ['--port', String(port), '--bind', '127.0.0.1']
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', '']
  const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null }
  const probe = new Redis({ ...connection, lazyConnect: true, retryStrategy: () => 50 })
  probe.on('error', () => {})
  await startOwnServer(
    folder => ({ program, args: [...network, ...durable, '--dir', folder] }),
    async () => {
      if (probe.status === 'wait') await probe.connect()
      return (await probe.ping()) === 'PONG'
    },
  )
  const queue = new Queue('steps', { connection, defaultJobOptions: { removeOnComplete: true } })
  const flows = new FlowProducer({ connection })
  const worker = new Worker(
    'steps',
    async ({ name, data }) => {
      if (name === 'five' && data.step < stepsOfFive) await queue.add('five', { step: data.step + 1 })
      if (name === 'first') {
        const children = Array.from({ length: data.width }, () => ({ name: 'middle', queueName: 'steps', data: {} }))
        await flows.add({ name: 'last', queueName: 'steps', data: {}, children })
      }
    },
    { connection, concurrency: 200 },
  )
  // It is recorded then.
  worker.on('completed', ({ name, data }) => {
    if (name === 'last' || data.step === stepsOfFive) ended.add()
  })
  await worker.waitUntilReady()
  const runAlone = async (name, data) => {
    const over = ended.more(1)
    await queue.add(name, data)
    await over
  }
  return {
    async runMany(workflows) {
      const over = ended.more(workflows)
      await callEach(workflows, 50, () => queue.add('five', { step: 1 }))
      await over
    },
    runOne: () => runAlone('five', { step: 1 }),
    runFan: width => runAlone('first', { width }),
    async close() {
      await worker.close()
      await flows.close()
      await queue.close()
      probe.disconnect()
    },
  }
})
