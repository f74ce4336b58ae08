/** DBOS on PostgreSQL: a pool of 20; many through a queue with 500 at once and a poll of 10 ms, one alone without a queue. */
import { DBOS } from '@dbos-inc/dbos-sdk'
import pg from 'pg'
import { callEach, counter, measure, stepsOfFive, Tally, until, url } from './peer-lap.mjs'

const ended = new Tally()
const nothing = async () => {}

const five = DBOS.registerWorkflow(
  async () => {
    for (let step = 0; step < stepsOfFive; step++) await DBOS.runStep(nothing, { name: `step ${step}` })
    ended.add()
  },
  { name: 'five' },
)

const fan = DBOS.registerWorkflow(
  async width => {
    await DBOS.runStep(nothing, { name: 'first' })
    await Promise.all(Array.from({ length: width }, (_, index) => DBOS.runStep(nothing, { name: `middle ${index}` })))
    await DBOS.runStep(nothing, { name: 'last' })
  },
  { name: 'fan' },
)

await measure(async () => {
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    systemDatabasePoolSize: 20,
    logLevel: 'error',
    runAdminServer: false,
  })
  await DBOS.launch()
  await DBOS.registerQueue('many', { workerConcurrency: 500, minPollingIntervalMs: 10 })
  const client = new pg.Client(url)
  await client.connect()
  const succeeded = counter(client, `select count(*) from dbos.workflow_status where status = 'SUCCESS'`)
  return {
    async runMany(workflows) {
      const wanted = (await succeeded()) + workflows
      const all = ended.more(workflows)
      await callEach(workflows, 50, () => DBOS.startWorkflow(five, { queueName: 'many' })())
      await all
      await until(async () => (await succeeded()) >= wanted)
    },
    runOne: async () => (await DBOS.startWorkflow(five)()).getResult(),
    runFan: async width => (await DBOS.startWorkflow(fan)(width)).getResult(),
    async close() {
      await client.end()
      await DBOS.shutdown()
    },
  }
})
