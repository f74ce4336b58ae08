/** Launches a database server on a free port of the loopback address and waits until it answers a real connection. */
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

const READY_TIMEOUT_MS = 60_000
const READY_POLL_MS = 25
const PORT_ATTEMPTS = 5

/**
 * @typedef {object} ServerOptions
 * @property {string} folder
 * @property {import('./guard.mjs').Guard} guard
 * @property {boolean} durable
 * @property {Readonly<Partial<Record<import('../databases.d.mts').ServerName, readonly string[]>>>} settings
 */

/**
 * @typedef {object} Launch
 * @property {string} program
 * @property {(port: number) => readonly string[]} args
 * @property {import('node:child_process').SpawnOptions} options
 * @property {string} log file that receives the server's output
 * @property {import('./guard.mjs').Guard} guard
 * @property {(url: string) => Promise<void>} connect proves that the server answers, or throws
 * @property {(port: number) => string} url
 */

/**
 * Another process may take the port between the moment it was found free and the server's bind; then the next is tried.
 *
 * @param {Launch} launch
 * @returns {Promise<string>} the server's address
 */
export async function startServer(launch) {
  for (let attempt = 1; ; attempt++) {
    const url = launch.url(await freePort())
    const failure = await launchOnce(launch, url)
    if (failure === undefined) return url
    if (attempt === PORT_ATTEMPTS || !/address already in use/i.test(failure)) {
      throw new Error(`${launch.program} did not start:\n${failure}`)
    }
  }
}

/**
 * @param {Launch} launch
 * @param {string} url
 * @returns {Promise<string | undefined>} why it failed, or nothing
 */
async function launchOnce(launch, url) {
  const output = openSync(launch.log, 'w')
  const child = spawn(launch.program, launch.args(Number(new URL(url).port)), {
    ...launch.options,
    detached: true,
    stdio: ['ignore', output, output],
  })
  launch.guard.watch(child)
  closeSync(output)
  child.unref()
  /** @type {string | undefined} */
  let ended
  child.once('error', error => (ended = error.message))
  child.once('exit', (code, signal) => (ended ??= `ended with ${signal ?? `code ${code}`}`))

  const deadline = Date.now() + READY_TIMEOUT_MS
  let refusal = 'no connection was tried'
  while (ended === undefined && Date.now() < deadline) {
    try {
      await launch.connect(url)
      return undefined
    } catch (error) {
      refusal = String(error)
    }
    await delay(READY_POLL_MS)
  }
  return `${ended ?? `no answer within ${READY_TIMEOUT_MS} ms (${refusal})`}\n${await readFile(launch.log, 'utf8')}`
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(address !== null && typeof address === 'object' ? address.port : 0))
    })
  })
}
