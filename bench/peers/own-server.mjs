/** Starts a server that a peer needs, in a folder of its own and on the loopback address, and ends it with the process. */
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './peer-lap.mjs'

export async function freePort() {
  const probe = createServer()
  await new Promise(resolve => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address()
  await new Promise(resolve => probe.close(resolve))
  return port
}

const readyMs = 60_000

/** `launch` gets the folder; `isReady` is asked until it says yes. */
export async function startOwnServer(launch, isReady) {
  const folder = mkdtempSync(join(tmpdir(), 'geneva-bench-peer-'))
  const { program, args, env = {} } = launch(folder)
  const log = join(folder, 'server.log')
  const output = openSync(log, 'w')
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', output, output],
  })
  closeSync(output)
  let failure = null
  child.on('error', error => {
    failure = error.message
  })
  child.on('exit', code => {
    failure ??= `${program} ended with code ${code}`
  })
  const stop = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  process.on('exit', stop)
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))
  const begun = performance.now()
  await until(async () => {
    if (failure !== null) throw new Error(`${failure}\n${readFileSync(log, 'utf8').slice(-2000)}`)
    if (performance.now() - begun > readyMs) throw new Error(`${program} did not answer within ${readyMs} ms.`)
    return isReady().catch(() => false)
  }, 50)
}
