/**
 * Plays one random saga on a real store: claims, reports, deaths of workers, broken connections, requests and decisions at
 * random, until it has ended; after every move its rows are audited, and at the end its whole history. All that is random
 * comes from the seed, so the same seed plays the same again.
 */
import { isGenevaError } from '../../src/index.ts'
import type { PlainAccess } from '../programs/harness/plain-access.ts'
import { type Random, seededRandom } from '../programs/harness/seeded-random.ts'
import type { DrivenWorker, Run } from './driven-worker.ts'
import type { Act } from './random-graph.ts'
import {
  auditEnded,
  auditStanding,
  hasEnded,
  readStanding,
  type SagaStanding,
  type StandingRow,
} from './saga-tables.ts'
import { type Drawn, drawSaga, type SagaTroupe } from './saga-troupe.ts'

export interface SagaReport {
  readonly drawn: Drawn
  readonly workflowId: string
  readonly state: string
  /** What was done, in order. */
  readonly log: readonly string[]
  readonly findings: readonly string[]
}

class Wrong extends Error {
  override readonly name = 'Wrong'
}

/** So many moves are made at random; then whatever is left completes. */
const maxRandomMoves = 60
const maxMoves = 600
const patienceMs = 20_000

/** Never rejects: what goes wrong on the way is a finding. */
export async function playSaga(troupe: SagaTroupe, access: PlainAccess, drawn: Drawn): Promise<SagaReport> {
  const play = new SagaPlay(troupe, access, drawn)
  const findings: string[] = []
  try {
    await play.all()
  } catch (error) {
    findings.push(...(error instanceof Wrong ? error.message : String((error as Error)?.stack ?? error)).split('\n'))
  }
  await troupe.letGo().catch(error => findings.push(String(error)))
  return { drawn, workflowId: play.id, state: play.standing.state, log: play.log, findings }
}

export { drawSaga }

class SagaPlay {
  readonly log: string[] = []
  id = ''
  standing: SagaStanding = { state: 'not begun', openLetters: 0, active: [] }
  readonly #troupe: SagaTroupe
  readonly #access: PlainAccess
  readonly #drawn: Drawn
  #random: Random
  #trouble: { readonly throws: number; readonly deaths: number; readonly requests: number }

  constructor(troupe: SagaTroupe, access: PlainAccess, drawn: Drawn) {
    this.#troupe = troupe
    this.#access = access
    this.#drawn = drawn
    this.#random = seededRandom(drawn.seed + 1)
    const { pick } = this.#random
    this.#trouble = { throws: pick([2, 8, 20]), deaths: pick([1, 4, 10]), requests: pick([0, 1, 5]) }
  }

  async all(): Promise<void> {
    const { geneva } = this.#troupe
    await this.#troupe.fillUp()
    this.id = (await geneva.start(this.#drawn.workflow, {})).id
    await this.#check()
    for (let move = 0; !hasEnded(this.standing); move++) {
      if (move === maxMoves) throw new Wrong(`After ${maxMoves} moves it is still ${this.standing.state}.`)
      // Every move has its own random numbers, so that one that went otherwise in a replay changes no other.
      this.#random = seededRandom(this.#drawn.seed * 7919 + move)
      await this.#choose(move < maxRandomMoves)
      await this.#check()
    }
    const flaw = await geneva.verifyHistory(this.id)
    const all = [
      ...(await auditEnded(this.#access, this.#drawn.graph, this.id)),
      ...(flaw ? [`${flaw.node}#${flaw.attempt} does not fit: ${flaw.reason}`] : []),
    ]
    if (all.length > 0) throw new Wrong(all.join('\n'))
  }

  async #check(): Promise<void> {
    this.standing = await readStanding(this.#access, this.id)
    const errors = this.#troupe.workers.flatMap(worker => worker.errors.splice(0))
    const findings = [
      ...auditStanding(this.standing),
      ...errors.map(error => `A worker says: ${(error as Error)?.stack ?? error}`),
    ]
    if (findings.length > 0) throw new Wrong(findings.join('\n'))
  }

  async #choose(wild: boolean): Promise<void> {
    const random = this.#random
    const { active, state } = this.standing
    const dead = new Set(this.#troupe.workers.filter(({ isDead }) => isDead).map(({ id }) => id))
    const runs = this.#standingRuns()
    const idle = active.filter(row => row.kind !== 'timer' && ['scheduled', 'suspended'].includes(row.state))
    const lost = active.filter(row => row.state === 'in_progress' && dead.has(row.owner ?? ''))
    const waiting = active.filter(row => row.kind === 'forward' && row.state === 'waiting')
    const isHeld = state === 'paused' || state === 'dlq'
    const stuck = runs.length + idle.length + lost.length === 0
    const { deaths, requests } = this.#trouble
    const moves: readonly (readonly [number, () => Promise<void>])[] = [
      [runs.length > 0 ? 30 : 0, () => this.#report([random.pick(runs)], wild)],
      [runs.length > 1 && wild ? 10 : 0, () => this.#report(random.shuffle(runs).slice(0, 3), wild)],
      [idle.length > 0 && !isHeld ? 30 : 0, () => this.#claim(random.pick(idle).queue)],
      [lost.length > 0 ? 15 : 0, () => this.#recover()],
      [waiting.length > 0 ? (stuck ? 20 : 5) : 0, () => this.#answer(random.pick(waiting), wild)],
      [isHeld && stuck ? 20 : 0, () => this.#ask(state === 'dlq' ? 'requeue' : 'resume')],
      [state === 'rolling_back' && wild ? 2 : 0, () => this.#moveClock()],
      [wild ? 1 : 0, () => this.#moveClock()],
      [wild ? deaths : 0, () => this.#die()],
      [wild ? 1 : 0, () => this.#shutDown()],
      [wild ? requests : 0, () => this.#ask(random.pick(requestKinds))],
    ]
    let left = random.between(
      1,
      moves.reduce((sum, [weight]) => sum + weight, 0),
    )
    for (const [weight, make] of moves) {
      left -= weight
      if (left <= 0 && weight > 0) return make()
    }
    throw new Wrong(`Nothing can be done any more, and it is ${state}.`)
  }

  /** Calls whose claim holds. */
  #standingRuns(): Run[] {
    const own = new Set(
      this.standing.active.filter(row => row.state === 'in_progress').map(row => `${row.owner} ${nameOf(row)}`),
    )
    return this.#troupe.workers
      .flatMap(worker => worker.runs)
      .filter(({ call, worker }) => call !== null && own.has(`${worker.id} ${call.node}`))
  }

  async #report(runs: readonly Run[], wild: boolean): Promise<void> {
    const random = this.#random
    const acts = runs.map(run => (wild ? this.#actFor(run) : 'succeed'))
    const breaks = wild && random.between(1, 30) === 1 ? random.pick(['before', 'after'] as const) : null
    if (breaks !== null) this.#troupe.flaky.breakOnce(breaks)
    for (const { worker } of runs) worker.mayRunOn = !worker.isDead && random.between(0, 1) === 0
    this.#note(
      runs.map((run, index) => `${run.worker.name}: ${run.call?.node} ${acts[index]}`).join(' + ') +
        (breaks ? ` (${breaks})` : ''),
    )
    for (const [index, run] of runs.entries()) run.open(acts[index] ?? 'succeed')
    await patiently(Promise.all(runs.map(run => run.arrival())))
    // A report that changes nothing has met nothing, and what comes next must not depend on that.
    this.#troupe.flaky.mend()
    for (const { worker } of runs) worker.mayRunOn = false
  }

  #actFor({ call }: Run): Act {
    const random = this.#random
    if (random.between(1, 100) <= this.#trouble.throws) return 'throw'
    if (call?.node.startsWith('undo ')) return random.pick(['succeed', 'succeed', 'succeed', 'succeed', 'reattempt'])
    const rare = random.between(1, 60)
    if (rare > 6) return call?.node.startsWith('condition') ? random.pick(['succeed', 'skip']) : 'succeed'
    return random.pick(['skip', 'skip', 'reattempt', 'cancel', 'finish', 'pause'])
  }

  async #claim(queue: string): Promise<void> {
    const worker = this.#random.pick(this.#troupe.living())
    const runs = await patiently(worker.claim(queue, this.id, [this.#drawn.type]))
    this.#note(
      `${worker.name} claims ${queue}: ${runs.map(run => run.call?.node ?? 'no code').join(', ') || 'nothing'}`,
    )
  }

  async #recover(): Promise<void> {
    const workers = this.#random.shuffle(this.#troupe.living()).slice(0, this.#random.between(1, 2))
    this.#note(`${workers.map(({ name }) => name).join(' and ')} take over`)
    await patiently(Promise.all(workers.map(worker => worker.recover())))
  }

  async #moveClock(): Promise<void> {
    const worker = this.#random.pick(this.#troupe.living())
    await this.#troupe.moveClock()
    this.#note(`the clock moves on, and ${worker.name} fires ${await patiently(worker.fireTimers(this.id))} timers`)
  }

  async #die(): Promise<void> {
    const worker = this.#random.pick(this.#troupe.living())
    const how = this.#random.pick(['lapses', 'retires'] as const)
    this.#note(`${worker.name} dies: it ${how}`)
    await worker.die(how)
    await this.#troupe.fillUp()
  }

  async #shutDown(): Promise<void> {
    const worker: DrivenWorker = this.#random.pick(this.#troupe.living())
    this.#note(`${worker.name} shuts down`)
    await patiently(worker.shutDown())
    await this.#troupe.fillUp()
  }

  /** Somebody decides, or a message comes; now and then two at once, of whom one must come second. */
  async #answer({ id, node }: StandingRow, wild: boolean): Promise<void> {
    const random = this.#random
    const { geneva } = this.#troupe
    const decision = wild && random.between(0, 4) === 0 ? 'rejected' : 'confirmed'
    const people = random.shuffle(['ann', 'bob', 'cid']).slice(0, wild ? random.between(1, 3) : 3)
    const isHuman = node.startsWith('human')
    const answers = await patiently(
      Promise.all(
        (isHuman ? people : ['ann']).map(by =>
          granted(() => (isHuman ? geneva.decide(id, { by, decision } as never) : geneva.signal(this.id, node, null))),
        ),
      ),
    )
    // Who of two is first is left to the database, and nothing follows from it.
    const told = answers.toSorted().join()
    this.#note(`${isHuman ? `${people.join(' and ')}: ${decision}` : 'signal to'} ${node}: ${told}`)
  }

  async #ask(kind: (typeof requestKinds)[number]): Promise<void> {
    const { geneva } = this.#troupe
    const node = this.#random.pick(this.#drawn.graph.nodes).id
    const answer = await patiently(
      granted(async () => {
        if (kind === 'requeue') {
          const table = this.#access.table('geneva_drive_dead_letters')
          const letters = await this.#access.query(
            `select id from ${table} where workflow_id = ? and state = 'open' order by id`,
            [this.id],
          )
          if (letters.length > 0) await geneva.requeue(String(this.#random.pick(letters).id))
        } else if (kind === 'signal') await geneva.signal(this.id, node, null)
        else if (kind === 'resolve' && node.startsWith('condition'))
          await geneva.resolve(this.id, node, { output: this.#random.pick([true, false]) })
        else if (kind === 'skip' || kind === 'resolve' || kind === 'reattempt') await geneva[kind](this.id, node)
        else await geneva[kind](this.id, { by: 'ann', reason: 'because' })
      }),
    )
    this.#note(`${kind} ${node}: ${answer}`)
  }

  #note(line: string): void {
    this.log.push(`${this.log.length + 1}. ${line}  [was ${this.standing.state}]`)
  }
}

const requestKinds = [
  ...(['pause', 'resume', 'resume', 'skip', 'resolve', 'reattempt', 'signal', 'requeue'] as const),
  ...(['pause', 'skip', 'resolve', 'cancel', 'cancel', 'abort'] as const),
]

const refusals = ['INVALID_STATE', 'ALREADY_DECIDED'] as const

async function granted(ask: () => Promise<unknown>): Promise<'granted' | 'refused'> {
  try {
    await ask()
    return 'granted'
  } catch (error) {
    if (!refusals.some(code => isGenevaError(error, code))) throw error
    return 'refused'
  }
}

function nameOf({ kind, node }: StandingRow): string {
  return kind === 'compensate' ? `undo ${node}` : node
}

async function patiently<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Wrong(`Nothing has come of it for ${patienceMs} ms.`)), patienceMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
