/**
 * Runs one command line after the other in one process, for tests that would otherwise start Node a hundred times. Each run has
 * outputs and an exit code of its own, and loads the application anew, as a process of its own would.
 */
import { copyFileSync, existsSync } from 'node:fs'
import { runCommandLine } from '../../src/cli/run-command-line.ts'

export interface CommandRequest {
  readonly number: number
  readonly args: readonly string[]
}

export interface CommandAnswer {
  readonly number: number
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const [folder = '.', config] = process.argv.slice(2)
process.chdir(folder)

let last: Promise<unknown> = Promise.resolve()
process.on('message', (request: CommandRequest) => {
  last = last.then(() => run(request))
})
process.send?.('ready')

async function run({ number, args }: CommandRequest): Promise<void> {
  if (config !== undefined && existsSync(config)) {
    // A module is loaded once, and its Geneva is closed when a command is done with it.
    process.env.GENEVA_APP = `./app-${number}.mjs`
    copyFileSync(config, process.env.GENEVA_APP)
  }
  const stdout = capture(process.stdout)
  const stderr = capture(process.stderr)
  await runCommandLine(args)
  const answer: CommandAnswer = { number, code: Number(process.exitCode ?? 0), stdout: stdout(), stderr: stderr() }
  process.exitCode = 0
  process.send?.(answer)
}

/** Keeps what is written until the returned function gives it back and lets go. */
function capture(stream: NodeJS.WriteStream): () => string {
  const { write } = stream
  let written = ''
  stream.write = ((chunk: string | Uint8Array) => {
    written += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    return true
  }) as typeof stream.write
  return () => {
    stream.write = write
    return written
  }
}
