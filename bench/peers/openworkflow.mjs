/** openworkflow on PostgreSQL or SQLite, 100 workflows at once. Results are looked for in the database, not by its slow poll. */
import { OpenWorkflow } from 'openworkflow'
import { callEach, measure, stepsOfFive, Tally, until, url } from './peer-lap.mjs'

const ended = new Tally()
const nothing = async () => null
/** A workflow may have no more; with more it fails, so that it gets a fan of two branches less than others. */
const mostSteps = 1000

await measure(async () => {
  const isFile = url.startsWith('sqlite:')
  const backend = isFile
    ? (await import('openworkflow/sqlite')).BackendSqlite.connect(url.slice('sqlite:'.length))
    : await (await import('openworkflow/postgres')).BackendPostgres.connect(url)
  const engine = new OpenWorkflow({ backend })
  const five = engine.defineWorkflow({ name: 'five' }, async ({ step }) => {
    for (let index = 0; index < stepsOfFive; index++) await step.run({ name: `step ${index}` }, nothing)
    ended.add()
  })
  const fan = engine.defineWorkflow({ name: 'fan' }, async ({ step, input }) => {
    await step.run({ name: 'first' }, nothing)
    const width = Math.min(input.width, mostSteps - 2)
    await Promise.all(Array.from({ length: width }, (_, index) => step.run({ name: `middle ${index}` }, nothing)))
    await step.run({ name: 'last' }, nothing)
    ended.add()
  })
  const worker = engine.newWorker({ concurrency: 100 })
  await worker.start()
  const isDone = async ({ workflowRun }) =>
    ['completed', 'succeeded'].includes((await backend.getWorkflowRun({ workflowRunId: workflowRun.id })).status)
  const runAlone = async (workflow, input) => {
    const over = ended.more(1)
    const handle = await workflow.run(input)
    await over
    await until(() => isDone(handle), 1)
  }
  const completed = async () => (await backend.countWorkflowRuns()).completed
  return {
    async runMany(workflows) {
      const wanted = (await completed()) + workflows
      const over = ended.more(workflows)
      await callEach(workflows, 50, () => five.run({}))
      await over
      await until(async () => (await completed()) >= wanted)
    },
    runOne: () => runAlone(five, {}),
    runFan: width => runAlone(fan, { width }),
    async close() {
      await worker.stop()
      await backend.stop()
    },
  }
})
