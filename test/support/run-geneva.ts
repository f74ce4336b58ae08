/** Runs the built command line as a person or a program does: in a process of its own, with its exit code and both outputs. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { waitFor } from './wait-for.ts'

export const commandLine = fileURLToPath(new URL('../../.build/bundle/command-line.js', import.meta.url))
export const libraryUrl = new URL('../../.build/bundle/index.js', import.meta.url).href

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

/** What would change what commands find or how they look, wherever the tests run. */
const unset = { DATABASE_URL: undefined, GENEVA_APP: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined }

export function runGeneva(args: readonly string[], { cwd, env }: RunOptions = {}): Promise<Ended> {
  const options = { ...(cwd === undefined ? {} : { cwd }), env: { ...process.env, ...unset, ...env } }
  return new Promise(resolve => {
    const child = execFile(process.execPath, [commandLine, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
    child.stdin?.end()
  })
}

/** The same for what goes on until it is told to stop. */
export function followGeneva(args: readonly string[], { cwd, env }: RunOptions = {}) {
  const options = { ...(cwd === undefined ? {} : { cwd }), env: { ...process.env, ...unset, ...env } }
  const child = spawn(process.execPath, [commandLine, ...args], options)
  const running = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    running.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    running.stderr += text
  })
  const ended = once(child, 'close').then(([code]) => Number(code))
  return {
    printed: running,
    /** Resolves when the text was printed on either output. */
    says: (text: string) => waitFor(() => `${running.stdout}${running.stderr}`.includes(text), 20_000),
    /** Stops it in good order and resolves with its exit code. */
    stop: (signal: NodeJS.Signals = 'SIGINT') => {
      child.kill(signal)
      return ended
    },
    ended,
  }
}
