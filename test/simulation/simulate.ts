/**
 * Plays a seed: a random graph, and at every step one of the moves that are possible, until the workflow has ended. All
 * that is random comes from the seed, so the same seed plays the same again.
 */
import { type Random, seededRandom } from '../programs/harness/seeded-random.ts'
import type { Run } from './driven-worker.ts'
import { hasLetter, type ModelNode } from './model.ts'
import { type Place, Play, type PlayRequest, Wrong } from './play.ts'
import { randomGraph } from './random-graph.ts'
import { queueOf } from './stage.ts'

export interface SimulationReport {
  readonly seed: number
  /** `null` when not even the start worked. */
  readonly play: Play | null
  /** What was wrong after the last move. */
  readonly findings: readonly string[]
}

/** So many moves are made at random; then the workflow is left to come to its end. */
const maxRandomMoves = 150
const maxMoves = 1500

/** Never rejects: what goes wrong on the way is a finding. */
export async function simulate(place: Place, seed: number): Promise<SimulationReport> {
  let play: Play | null = null
  const findings: string[] = []
  const found = (error: unknown) => {
    const text = error instanceof Wrong ? error.message : String((error as Error)?.stack ?? error)
    findings.push(...text.split('\n'))
  }
  try {
    play = await Play.begin(place, randomGraph(seededRandom(seed)), `Simulated ${seed}`)
    await playOn(play, seed)
    await play.checkHistory()
  } catch (error) {
    found(error)
  }
  await play?.end().catch(error => findings.length > 0 || found(error))
  return { seed, play, findings }
}

/** What there is much of in a play, so that rare things meet in some of them. */
interface Temper {
  readonly deaths: number
  readonly requests: number
}

async function playOn(play: Play, seed: number): Promise<void> {
  const drawn = seededRandom(seed + 1)
  const temper = { deaths: drawn.pick([1, 3, 15]), requests: drawn.pick([2, 12, 25]) }
  for (let move = 0; !play.model.isOver; move++) {
    if (move === maxMoves) throw new Wrong(`After ${maxMoves} moves it is still ${play.model.state}.`)
    // Every move has its own random numbers, so that one that went otherwise in a replay changes no other.
    const random = seededRandom(seed * 7919 + move)
    const wild = move < maxRandomMoves ? wildMoves(play, random, temper) : []
    await choose(random, [...plainMoves(play, random), ...wild])()
  }
}

interface Move {
  readonly weight: number
  make(): Promise<void>
}

function choose(random: Random, moves: readonly Move[]): () => Promise<void> {
  let left = random.between(
    1,
    moves.reduce((sum, move) => sum + move.weight, 0),
  )
  for (const { weight, make } of moves) {
    left -= weight
    if (left <= 0 && weight > 0) return make
  }
  throw new Wrong('Nothing can be done any more, and it has not ended.')
}

/** What brings the workflow to its end, and a person who resumes it and handles dead letters. */
function plainMoves(play: Play, random: Random): Move[] {
  const { model } = play
  // Now and then a worker that is given up for dead still gets its word in.
  const runs = play.atGates().filter(run => !run.worker.isDead || random.between(0, 3) === 0)
  const queues = [...new Set(model.claimable().map(node => queueOf(node.spec)))]
  const idle = runs.length === 0 && queues.length === 0
  const waits = model.all().some(node => node.later) || model.state === 'rolling_back' || model.finishing
  const worker = random.pick(play.living())
  const letters = model.all().filter(hasLetter)
  return [
    { weight: runs.length > 0 ? 30 : 0, make: () => reportOne(play, random.pick(runs), random) },
    { weight: queues.length > 0 ? 30 : 0, make: () => play.claim(worker, random.pick(queues)) },
    { weight: play.lost().length > 0 ? 15 : 0, make: () => play.recover(some(play.living(), 1, 2, random)) },
    { weight: waits ? (idle ? 6 : 1) : 0, make: () => play.moveClock(worker) },
    { weight: model.state === 'paused' ? (idle ? 10 : 3) : 0, make: () => play.ask({ kind: 'resume', node: null }) },
    { weight: letters.length > 0 ? (idle ? 10 : 3) : 0, make: () => handleLetter(play, random.pick(letters), random) },
  ]
}

function wildMoves(play: Play, random: Random, temper: Temper): Move[] {
  const runs = play.atGates()
  const late = play.late()
  const worker = random.pick(play.living())
  const lateAct = () => random.pick(['succeed', 'throw', 'skip', 'cancel', 'finish'] as const)
  const queue = () => queueOf(random.pick(play.graph.nodes))
  return [
    { weight: runs.length > 1 ? 10 : 0, make: () => play.reportTogether(some(runs, 2, 3, random)) },
    { weight: runs.length > 0 ? 3 : 0, make: () => play.reportDuring(random.pick(runs), requestFor(play, random)) },
    { weight: late.length > 0 ? 4 : 0, make: () => play.reportLate(random.pick(late), lateAct()) },
    { weight: temper.deaths, make: () => play.die(worker, random.pick(['lapses', 'retires'] as const)) },
    ...killers(play).map(doomed => ({ weight: temper.deaths, make: () => play.die(doomed, 'lapses') })),
    { weight: 2, make: () => play.shutDown(worker) },
    { weight: 2, make: () => play.claim(worker, queue()) },
    { weight: temper.requests, make: () => play.ask(requestFor(play, random)) },
  ]
}

/** Workers that run what others have died of: a step is given up when three die of it in a row. */
function killers(play: Play) {
  const owners = play.model.running().filter(node => node.crashes > 0)
  return play.living().filter(worker => owners.some(node => node.owner === worker.id))
}

async function reportOne(play: Play, run: Run, random: Random): Promise<void> {
  const runOn = !run.worker.isDead && random.between(0, 1) === 0
  const breaks = random.between(1, 40) === 1 ? random.pick(['before', 'after'] as const) : null
  await play.report(run, { runOn, breaks })
}

/** Most are requeued: what is canceled early shows little. */
async function handleLetter(play: Play, { name: node }: ModelNode, random: Random): Promise<void> {
  const kinds = [
    'requeue',
    'requeue',
    'requeue',
    'requeue',
    'discard and skip',
    'skip',
    'resolve',
    'reattempt',
  ] as const
  const kind = random.between(0, 14) === 0 ? random.pick(['discard', 'cancel'] as const) : random.pick(kinds)
  await play.ask({ kind, node: kind === 'cancel' ? null : node })
}

function requestFor({ model }: Play, random: Random): PlayRequest {
  const wholes = ['pause', 'pause', 'resume', 'resume', 'cancel'] as const
  const lettered = model.all().filter(node => node.letters.length > 0)
  // Also those that were handled: that must be refused.
  if (lettered.length > 0 && random.between(0, 4) === 0) {
    return { kind: random.pick(['requeue', 'discard and skip'] as const), node: random.pick(lettered).name }
  }
  const kind = random.pick(['whole', 'skip', 'resolve', 'reattempt', 'skip', 'reattempt'] as const)
  // Few are canceled early, or there would be nothing to see.
  if (kind === 'whole') return { kind: random.pick(wholes.slice(0, random.between(0, 9) === 0 ? 5 : 4)), node: null }
  // Most nodes are idle or over; what stands somewhere is asked for more often.
  const all = model.all()
  const reached = all.filter(node => node.attempt > 0 && node.state !== 'completed')
  const often = reached.length > 0 && random.between(0, 3) > 0
  return { kind, node: random.pick(often ? reached : all).name }
}

function some<T>(items: readonly T[], low: number, high: number, random: Random): T[] {
  return random.shuffle(items).slice(0, random.between(low, high))
}
