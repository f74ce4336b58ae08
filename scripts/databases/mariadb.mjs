/** Starts a real MariaDB server for tests and benchmarks. It listens on the loopback address and keeps no binary log. */
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { mariadbBinaries } from './mariadb-binaries.mjs'
import { run } from './run.mjs'
import { startServer } from './server.mjs'

const fast = ['--innodb-flush-log-at-trx-commit=0', '--skip-innodb-doublewrite', '--loose-debug-no-sync']

/**
 * @param {import('./server.mjs').ServerOptions} options
 * @returns {Promise<string>} the server's address
 */
export async function startMariadb({ folder, guard, durable, settings }) {
  const binaries = await mariadbBinaries(folder)
  const home = join(folder, 'mariadb')
  const accounts = join(home, 'accounts.sql')
  const password = randomBytes(12).toString('hex')
  const temporary = join(home, 'tmp')
  await mkdir(home, { mode: 0o700 })
  await mkdir(temporary)
  await writeFile(
    accounts,
    `CREATE USER geneva@'127.0.0.1' IDENTIFIED BY '${password}';\n` +
      `GRANT ALL PRIVILEGES ON *.* TO geneva@'127.0.0.1' WITH GRANT OPTION;\n`,
  )
  const basics = ['--no-defaults', `--datadir=${join(home, 'data')}`, `--basedir=${binaries.base}`]
  // Of its own: a server that starts removes what looks like a temporary table of its own, also those of its neighbours.
  basics.push(`--tmpdir=${temporary}`)
  if (process.getuid?.() === 0) basics.push('--user=root')
  const options = { cwd: home, env: { ...process.env, ...binaries.env } }
  const noTestData = ['--auth-root-authentication-method=socket', '--skip-test-db']
  await run(binaries.installDb, [...basics, ...noTestData], { ...options, guard })

  const files = [`--socket=${join(home, 'socket')}`, `--pid-file=${join(home, 'pid')}`, `--init-file=${accounts}`]
  const network = ['--bind-address=127.0.0.1', '--skip-name-resolve', '--max-connections=200']
  const storage = ['--skip-log-bin', '--character-set-server=utf8mb4', ...(durable ? [] : fast)]
  const more = (settings.mysql ?? []).map(setting => `--${setting}`)
  return startServer({
    program: binaries.mariadbd,
    args: port => [...basics, ...files, `--port=${port}`, ...network, ...storage, ...more],
    options,
    log: join(folder, 'mariadb.log'),
    guard,
    url: port => `mysql://geneva:${password}@127.0.0.1:${port}/mysql`,
    connect: async url => {
      const connection = await createConnection(url)
      await connection.end()
    },
  })
}
