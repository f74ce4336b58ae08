/**
 * The peers: other engines and queues for the same work, each a small program in `bench/peers` that runs in a process of its
 * own. They are installed when they are first asked for. A peer that fails is told with its error, never left out silently.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type BenchDatabase, inFreshPlace } from './databases.ts'
import type { Case, Measurement, Size } from './workload.ts'

interface Peer {
  readonly system: string
  readonly program: string
  readonly variant?: string
  /** Where it keeps its state: one of ours, or a server that its program starts. */
  readonly database: 'postgres' | 'sqlite' | 'redis' | 'restate'
}

const peers: readonly Peer[] = [
  { system: 'DBOS', program: 'dbos', database: 'postgres' },
  { system: 'Restate', program: 'restate', database: 'restate' },
  { system: 'BullMQ', program: 'bullmq', database: 'redis' },
  { system: 'pg-boss', program: 'pg-boss', database: 'postgres' },
  { system: 'pg-boss, hand-batched', program: 'pg-boss', variant: 'batched', database: 'postgres' },
  { system: 'graphile-worker', program: 'graphile-worker', database: 'postgres' },
  { system: 'openworkflow', program: 'openworkflow', database: 'postgres' },
  { system: 'openworkflow', program: 'openworkflow', database: 'sqlite' },
]

// The programs are compiled into another folder, and the peers are not.
const folder = fileURLToPath(new URL('../../bench/peers/', import.meta.url))
/** Several of them need a newer Node than we do; all get it, and so do we where they are measured beside us. */
const newerNode = `${folder}node_modules/n24/bin/node`

/** Where it could not be installed, the one that runs this. */
export function nodeOfPeers(): string {
  return existsSync(newerNode) ? newerNode : process.execPath
}

const run = promisify(execFile)

/** Why there are no peers, if they could not be installed; each of them tells it then. */
let installError: Error | null = null

/** Scripts of packages are not run; `--force` because one of them is for one platform only. */
export async function installPeers(): Promise<void> {
  const installedAt = await changedAt('node_modules/.package-lock.json')
  if (installedAt >= (await changedAt('package-lock.json'))) return
  process.stderr.write('installing the peers\n')
  try {
    await run('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--force', '--no-audit', '--no-fund'])
  } catch (error) {
    installError = error as Error
  }
}

async function changedAt(file: string): Promise<number> {
  return stat(`${folder}${file}`).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  )
}

/** One line of the table each, under the name of the case that they are compared with. */
export function peerCases(workload: string, name: string, amounts: Readonly<Record<Size, object>>): readonly Case[] {
  return peers.map(peer => ({
    name,
    system: peer.system,
    database: peer.database,
    on: peer.database === 'postgres' || peer.database === 'sqlite' ? peer.database : null,
    measure: (database, size) =>
      peer.database === database.kind
        ? inFreshPlace(database, place => runPeer(peer, [workload, amounts[size]], place))
        : runPeer(peer, [workload, amounts[size]], database),
  }))
}

/** The slowest that ever ended here took 24 seconds; one that has not ended by then is told as failed. */
const patienceMs = 180_000

async function runPeer(
  peer: Peer,
  [workload, amount]: readonly [string, object],
  { options }: BenchDatabase,
): Promise<Measurement[]> {
  if (installError !== null) throw installError
  const args = [`${folder}${peer.program}.mjs`, workload, JSON.stringify(amount)]
  const peerEnv = { PEER_DATABASE_URL: options.url, PEER_VARIANT: peer.variant ?? '', PEER_HAS_PARENT: '1' }
  const { stdout } = await run(nodeOfPeers(), args, { env: { ...process.env, ...peerEnv }, timeout: patienceMs })
  const lines = stdout.split('\n').filter(line => line.startsWith('{'))
  if (lines.length === 0) throw new Error(`${peer.program} printed no result.`)
  return lines.map(line => {
    const { what, value, unit } = JSON.parse(line) as Measurement
    return { ...(what === undefined ? {} : { what }), value, unit }
  })
}
