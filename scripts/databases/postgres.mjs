/** Starts a real PostgreSQL server for tests and benchmarks, as root too, where PostgreSQL itself refuses to run as root. */
import { randomBytes } from 'node:crypto'
import { chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { postgresBinaries } from './postgres-binaries.mjs'
import { run } from './run.mjs'
import { startServer } from './server.mjs'

const fast = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']

/**
 * @param {import('./server.mjs').ServerOptions} options
 * @returns {Promise<string>} the server's address
 */
export async function startPostgres({ folder, guard, durable, settings: more }) {
  const owner = await serverOwner()
  const { initdb, postgres } = await postgresBinaries(folder, owner)
  const password = randomBytes(12).toString('hex')
  const home = join(folder, 'postgres')
  const data = join(home, 'data')
  const passwordFile = join(home, 'password')
  await mkdir(home)
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (owner.uid !== undefined && owner.gid !== undefined) {
    await chown(home, owner.uid, owner.gid)
    await chown(passwordFile, owner.uid, owner.gid)
  }
  const options = { cwd: home, env: { ...process.env, LC_ALL: 'C' }, ...owner }
  const identity = ['--username=postgres', '--auth=password', `--pwfile=${passwordFile}`]
  const format = ['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions']
  await run(initdb, [`--pgdata=${data}`, ...identity, ...format], { ...options, guard })

  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']
  if (!durable) settings.push(...fast)
  settings.push(...(more.postgres ?? []))
  return startServer({
    program: postgres,
    args: port => ['-D', data, '-p', String(port), ...settings.flatMap(setting => ['-c', setting])],
    options,
    log: join(folder, 'postgres.log'),
    guard,
    url: port => `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    connect: async url => {
      const client = new pg.Client(url)
      client.on('error', () => {})
      await client.connect()
      await client.end()
    },
  })
}

/** @returns {Promise<import('./postgres-binaries.mjs').Owner>} */
async function serverOwner() {
  if (process.getuid?.() !== 0) return {}
  for (const name of ['postgres', 'nobody']) {
    try {
      return { uid: Number(await run('id', ['-u', name])), gid: Number(await run('id', ['-g', name])) }
    } catch {
      // No such user; the next one will do as well.
    }
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: add one with useradd.',
  )
}
