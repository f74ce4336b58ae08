/**
 * The demo behind `npm start`: five workflows on a SQLite file, two worker processes, one of which is killed in the
 * middle of a step. It ends by itself; the exit code says whether everything ended as it should.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { Geneva } from '../src/index.ts'
import { FastClock } from './demo/fast-clock.ts'
import { progressTable, type Scene } from './demo/progress-table.ts'
import { Screen } from './demo/screen.ts'
import { type Actor, look, nextWakeUp, running } from './demo/sighting.ts'
import { Story } from './demo/story.ts'
import { mistakes, summary } from './demo/summary.ts'
import { dateText, spanText, styled } from './demo/wording.ts'
import { WorkerProcess } from './demo/worker-process.ts'
import { allWorkflows } from './workflows/all-workflows.ts'
import { Customers } from './workflows/customers.ts'
import { Invoice } from './workflows/invoice.ts'
import { Order } from './workflows/order.ts'
import { Payment } from './workflows/payment.ts'
import { Signup } from './workflows/signup.ts'

const lookEveryMs = 100
/** How long a moment stays on the screen before the next thing happens. Tests are in a hurry. */
const momentMs = process.env.GENEVA_DEMO_HURRY ? 0 : 600
/** Short, so that nobody has to wait for the recovery. The default is 10 seconds. */
const leaseMs = 3000
const timeLimitMs = 60_000

const folder = mkdtempSync(join(tmpdir(), 'geneva-demo-'))
const database = `sqlite:${join(folder, 'demo.db')}`
const screen = new Screen()
const geneva = new Geneva({ database, workflows: allWorkflows })
const workers: WorkerProcess[] = []

process.once('exit', () => {
  screen.leave()
  rmSync(folder, { recursive: true, force: true })
})
for (const [signal, code] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })) {
  process.once(signal, async () => {
    await Promise.all(workers.map(worker => worker.kill()))
    process.exit(code)
  })
}

process.exitCode = await main()

async function main(): Promise<number> {
  const startedAt = performance.now()
  const store = await geneva.openedStore()
  workers.push(...['worker A', 'worker B'].map(name => new WorkerProcess(name, { database, leaseMs })))
  const clock = new FastClock(store, workers)
  const firstDay = await clock.now()
  screen.tell(styled('bold', 'Geneva Drive: five workflows, two worker processes, one SQLite file'))
  screen.tell(styled('dim', `${workers.map(worker => `${worker.name} is pid ${worker.pid}`).join(', ')}\n`))

  const actors = await startWorkflows()
  const obstacles = await play(actors, clock)
  await Promise.all(workers.map(worker => worker.stop()))

  const ending = {
    sightings: await look(actors),
    workers,
    simulatedMs: (await clock.now()).getTime() - firstDay.getTime(),
    realMs: performance.now() - startedAt,
  }
  await geneva.close()
  screen.leave()
  const complaints = [...obstacles, ...mistakes(ending)]
  for (const line of ['', ...summary(ending), '']) screen.tell(line)
  for (const line of complaints) screen.tell(styled('red', line))
  screen.tell('Read next: examples/workflows, then docs/start.md')
  return complaints.length === 0 ? 0 : 1
}

async function startWorkflows(): Promise<Actor[]> {
  const [ann, ben] = [Customers.ref('ann'), Customers.ref('ben')]
  const signup = ['welcome', 'remind', 'survey']
  return [
    { label: 'signup Ann', steps: signup, workflow: await geneva.start(Signup, { hero: ann }) },
    { label: 'signup Ben', steps: signup, workflow: await geneva.start(Signup, { hero: ben }) },
    {
      label: 'payment Ann',
      steps: ['charge', 'receipt'],
      workflow: await geneva.start(Payment, { hero: ann, input: { cents: 4200 } }),
    },
    {
      label: 'invoice Ben',
      steps: ['tax', 'send'],
      workflow: await geneva.start(Invoice, { hero: ben, input: { cents: 9900 } }),
    },
    {
      label: 'order Ann',
      steps: ['reserve', 'pack', 'ship'],
      workflow: await geneva.start(Order, { hero: ann, input: { items: ['lamp', 'chair'] } }),
    },
  ]
}

/** Looks, tells, and now and then steps in, until every workflow has ended. Says what is wrong if they do not. */
async function play(actors: readonly Actor[], clock: FastClock): Promise<string[]> {
  const story = new Story()
  const intervene = interventions(clock)
  for (const until = performance.now() + timeLimitMs; performance.now() < until; ) {
    if (!workers.some(worker => worker.alive)) return ['No worker is left.']
    const scene: Scene = { now: await clock.now(), sightings: await look(actors), workerOf }
    for (const line of story.news(scene)) screen.tell(line)
    screen.show(progressTable(scene))
    if (scene.sightings.every(({ state }) => state === 'finished' || state === 'canceled')) return []
    await intervene(scene)
    await pass(lookEveryMs)
  }
  return [`The demo was not done after ${spanText(timeLimitMs)}.`]
}

/** What the demo does besides watching: it kills, it resumes, and it moves the clock on when everybody sleeps. */
function interventions(clock: FastClock): (scene: Scene) => Promise<void> {
  let killed = false
  let calmSince: number | null = null
  return async ({ now, sightings }) => {
    const [only, another] = running(sightings)
    const packing = only !== undefined && another === undefined && only.step === 'pack' && !killed
    const wakeUp = nextWakeUp(sightings, now)
    if (!packing && wakeUp === null) calmSince = null
    else calmSince ??= performance.now()
    if (calmSince === null || performance.now() - calmSince < momentMs) return
    calmSince = null

    const paused = sightings.find(({ state }) => state === 'paused')
    if (packing) {
      killed = await killWorkerOf(only.id)
    } else if (paused) {
      screen.tell(aside('somebody adds the tax rate and resumes the invoice'))
      await paused.actor.workflow.resume({ by: 'demo', reason: 'tax rate added' })
    } else if (wakeUp !== null) {
      const span = spanText(wakeUp.getTime() - now.getTime())
      screen.tell(aside(`all asleep: the clock jumps ${span} to ${dateText(wakeUp)}`))
      await clock.jumpTo(wakeUp)
    }
  }
}

/** False when the worker has not said yet that it has begun. */
async function killWorkerOf(executionId: string): Promise<boolean> {
  const victim = workers.find(worker => worker.runs.has(executionId))
  if (victim === undefined) return false
  await victim.kill()
  screen.tell(aside(`${victim.name} (pid ${victim.pid}) is killed with SIGKILL in mid-step`))
  screen.tell(aside(`its lease lapses in ${spanText(leaseMs)}, then another takes over`))
  return true
}

function workerOf(executionId: string): string | null {
  const worker = workers.find(each => each.runs.has(executionId))
  if (worker === undefined) return null
  return worker.alive ? worker.name : `${worker.name} †`
}

function aside(text: string): string {
  return styled('magenta', `                  ${text}`)
}
