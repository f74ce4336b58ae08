/**
 * What every program in this folder does with its engine: warms up, runs a workload, and prints each result as a line of
 * JSON. Arguments: the workload, and how much of it as JSON. The address of the database is in PEER_DATABASE_URL.
 */
import { setTimeout as delay } from 'node:timers/promises'

export const stepsOfFive = 5
export const url = process.env.PEER_DATABASE_URL ?? ''

/**
 * @typedef {object} Peer
 * @property {(workflows: number) => Promise<unknown>} runMany starts so many, and resolves when all have durably finished
 * @property {() => Promise<unknown>} runOne the same of one, as soon as its caller can know
 * @property {(width: number) => Promise<unknown>} runFan one step, so many behind it, and one behind all of those
 * @property {() => Promise<unknown>} close
 */

/** @param {() => Promise<Peer>} open */
export async function measure(open) {
  // Whoever asked for it may be interrupted; then nobody wants the answer, and a server must not be left behind.
  if (process.env.PEER_HAS_PARENT) process.stdin.resume().once('close', () => process.exit(1))
  const [workload = '', amount = '{}'] = process.argv.slice(2)
  const peer = await open()
  try {
    await workloads[workload](peer, JSON.parse(amount))
  } finally {
    await peer.close()
  }
  // Some keep timers or connections for a while.
  process.exit(0)
}

const workloads = {
  async throughput(peer, { warmUp, warmUpMs, measuredMs, workflows }) {
    await runFor(warmUpMs, () => peer.runMany(warmUp))
    const times = []
    await runFor(measuredMs, async () => times.push(await timed(() => peer.runMany(workflows))))
    print({ workload: 'throughput', value: (workflows * stepsOfFive * 1000) / middleOf(times), unit: 'steps/s' })
  },
  async latency(peer, { warmUpMs, workflows }) {
    await runFor(warmUpMs, () => peer.runOne())
    const times = []
    while (times.length < workflows) times.push(await timed(() => peer.runOne()))
    times.sort((a, b) => a - b)
    const at = share => times[Math.min(times.length - 1, Math.floor(times.length * share))]
    print({ workload: 'latency', what: 'p50', value: at(0.5), unit: 'ms' })
    print({ workload: 'latency', what: 'p99', value: at(0.99), unit: 'ms' })
  },
  async fan(peer, { warmUp, warmUpMs, width, fans }) {
    await runFor(warmUpMs, () => peer.runFan(warmUp))
    const times = []
    while (times.length < fans) times.push(await timed(() => peer.runFan(width)))
    print({ workload: 'fan', value: middleOf(times), unit: 'ms' })
  },
}

/** The slower of the two in the middle, where there are two. */
function middleOf(times) {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]
}

/** One round at least, and others until the time is over. */
async function runFor(ms, round) {
  const begun = performance.now()
  do await round()
  while (performance.now() - begun < ms)
}

async function timed(work) {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

function print(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

/** Calls so many times, at most `inFlight` at once. */
export async function callEach(count, inFlight, call) {
  let next = 0
  const caller = async () => {
    while (next < count) await call(next++)
  }
  await Promise.all(Array.from({ length: Math.min(count, inFlight) }, caller))
}

/** Counts, and tells when so many more have come. */
export class Tally {
  #count = 0
  #wanted = Number.POSITIVE_INFINITY
  #reached = () => {}

  add() {
    if (++this.#count === this.#wanted) this.#reached()
  }

  more(count) {
    this.#wanted = this.#count + count
    return new Promise(resolve => {
      this.#reached = resolve
    })
  }
}

/** Asks until the answer is yes. */
export async function until(isDone, everyMs = 2) {
  while (!(await isDone())) await delay(everyMs)
}

/** A table's count, as a function, through a `pg` client. */
export function counter(client, query) {
  return async () => Number((await client.query(query)).rows[0].count)
}
