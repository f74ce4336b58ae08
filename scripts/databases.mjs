#!/usr/bin/env node
/**
 * Real database servers for tests and benchmarks, without Docker. As a command it prints their addresses and keeps them
 * until it is interrupted, or runs the command given after `--` with the addresses in its environment.
 */
import { spawn } from 'node:child_process'
import { access, chmod, constants, mkdtemp, realpath, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startGuard } from './databases/guard.mjs'
import { startMariadb } from './databases/mariadb.mjs'
import { startPostgres } from './databases/postgres.mjs'

/** @typedef {import('./databases.d.mts').Databases} Databases */
/** @typedef {import('./databases.d.mts').StartOptions} StartOptions */

/**
 * @param {StartOptions} [options]
 * @returns {Promise<Databases>}
 */
export async function startDatabases({ durable = false, only = ['postgres', 'mysql'], settings = {} } = {}) {
  const folder = await mkdtemp(join(await realpath(durable ? tmpdir() : await quickPlace()), 'geneva-databases-'))
  const guard = startGuard(folder)
  try {
    // The PostgreSQL server may run as another user than this process, and has to pass through.
    await chmod(folder, 0o755)
    const options = { folder, guard, durable, settings }
    const [postgres, mysql] = await settleAll([
      only.includes('postgres') ? process.env.GENEVA_TEST_POSTGRES_URL || startPostgres(options) : undefined,
      only.includes('mysql') ? process.env.GENEVA_TEST_MYSQL_URL || startMariadb(options) : undefined,
    ])
    return { postgres, mysql, folder, stop: () => guard.release() }
  } catch (error) {
    await guard.release()
    throw error
  }
}

const memory = '/dev/shm'
const enoughRoom = 4 * 2 ** 30

/**
 * In memory where there is room for it and nobody has said where else: what need not survive the machine waits for no
 * disk there, least of all SQLite, which waits at every commit.
 */
async function quickPlace() {
  if (process.env.TMPDIR) return tmpdir()
  try {
    await access(memory, constants.W_OK)
    const { bavail, bsize } = await statfs(memory)
    return bavail * bsize >= enoughRoom ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}

/**
 * Like `Promise.all`, but waits for all before it throws, so that nothing is still starting while we clean up.
 *
 * @template T
 * @param {readonly (T | Promise<T>)[]} promises
 * @returns {Promise<T[]>}
 */
async function settleAll(promises) {
  const results = await Promise.allSettled(promises)
  const failures = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  if (failures.length > 1) throw new Error(failures.map(failure => failure.message).join('\n\n'))
  if (failures.length === 1) throw failures[0]
  return results.flatMap(result => (result.status === 'fulfilled' ? [result.value] : []))
}

/** @param {readonly string[]} args */
async function main(args) {
  const split = args.indexOf('--')
  const options = split === -1 ? args : args.slice(0, split)
  const command = split === -1 ? [] : args.slice(split + 1)
  if (options.some(option => option !== '--durable') || (split !== -1 && command.length === 0)) {
    process.stderr.write('usage: databases.mjs [--durable] [-- command ...]\n')
    return 2
  }
  const interrupted = new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => resolve(130))
  })
  const databases = await startDatabases({ durable: options.includes('--durable') })
  const env = { GENEVA_TEST_POSTGRES_URL: databases.postgres, GENEVA_TEST_MYSQL_URL: databases.mysql }
  try {
    if (command.length > 0) return await runCommand(command, { ...process.env, ...env }, interrupted)
    for (const [name, value] of Object.entries(env)) process.stdout.write(`export ${name}='${value}'\n`)
    const held = setInterval(() => {}, 60_000)
    await interrupted
    clearInterval(held)
    return 0
  } finally {
    await databases.stop()
  }
}

/**
 * @param {readonly string[]} command
 * @param {NodeJS.ProcessEnv} env
 * @param {Promise<unknown>} interrupted
 * @returns {Promise<number>}
 */
function runCommand([program = '', ...args], env, interrupted) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: 'inherit' })
    interrupted.then(() => child.kill('SIGTERM'))
    child.once('error', reject)
    child.once('exit', code => resolve(code ?? 130))
  })
}

if (process.argv[1] && (await realpath(process.argv[1])) === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv.slice(2))
}
