/**
 * Spawns one of the programs in `test/programs` as a real Node process, for tests that kill workers. Every program that
 * is still running when the test file ends is killed, and so it is when the test process itself dies.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface ProgramExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface Program {
  readonly pid: number
  /** Every message the program has sent with `process.send`, oldest first. */
  readonly messages: readonly unknown[]
  /** Everything printed so far on standard output and standard error. */
  readonly output: { readonly stdout: string; readonly stderr: string }
  /** Resolves when the process has ended and its output is complete; never rejects. */
  readonly exited: Promise<ProgramExit>
  /**
   * The first message that satisfies the predicate and that no earlier call was given, whether it has come already or
   * comes later. Rejects, with the program's output, if the program ends or the time is over.
   */
  nextMessage<T = unknown>(predicate?: (message: T) => boolean, timeoutMs?: number): Promise<T>
  /** Sends a message to the program. */
  send(message: string | number | boolean | object): void
  /** Sends a signal, SIGKILL unless told; does nothing once the program has ended. */
  kill(signal?: NodeJS.Signals): void
}

const compiled = fileURLToPath(new URL('../../.build/bundle/', import.meta.url))

/** Loaded into the program first: standard input is a pipe that closes when the test process dies, however it dies. */
const endWithParent = `data:text/javascript,${encodeURIComponent(
  "process.stdin.on('error', () => {}).once('close', () => process.exit(1)).resume().unref()",
)}`
const running = new Set<Program>()

/** Ends what the test file has left. */
export async function killRunningPrograms(): Promise<void> {
  for (const program of running) program.kill()
  await Promise.all([...running].map(program => program.exited))
}

/** Starts `test/programs/NAME.ts` with arguments and, on top of our own, environment variables. */
export function spawnProgram(name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Program {
  const nodeArgs = ['--enable-source-maps', `--import=${endWithParent}`, `${compiled}${name}.js`, ...args]
  const child = spawn(process.execPath, nodeArgs, {
    env: { ...withoutRunner(process.env), ...env },
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (output.stdout += chunk))
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (output.stderr += chunk))
  const mailbox = new Mailbox(reason => `${name} ${reason}\n${output.stdout}${output.stderr}`)
  child.on('message', message => mailbox.deliver(message))
  const exited = once(child, 'close').then(
    ([code, signal]): ProgramExit => ({ code, signal }),
    (error: unknown): ProgramExit => {
      output.stderr += String(error)
      return { code: null, signal: null }
    },
  )
  const program: Program = {
    pid: child.pid ?? -1,
    messages: mailbox.messages,
    output,
    exited,
    nextMessage: (predicate = () => true, timeoutMs = 25_000) => mailbox.next(predicate, timeoutMs),
    send: message => void child.send(message),
    kill: (signal = 'SIGKILL') => void child.kill(signal),
  }
  running.add(program)
  exited.then(exit => {
    running.delete(program)
    mailbox.close(`ended with ${exit.signal ?? `code ${exit.code}`}`)
  })
  return program
}

/** The runner's own settings, which make no sense in a program of its own. */
function withoutRunner(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(VITEST|NODE_OPTIONS$|NODE_V8_COVERAGE$)/.test(name)),
  )
}

interface Waiter {
  accepts(message: unknown): boolean
  resolve(message: unknown): void
  reject(reason: string): void
}

/** Messages in order of arrival, each handed to at most one waiter. */
class Mailbox {
  readonly messages: unknown[] = []
  readonly #unread: unknown[] = []
  readonly #waiters = new Set<Waiter>()
  readonly #describe: (reason: string) => string
  #closed: string | undefined

  constructor(describe: (reason: string) => string) {
    this.#describe = describe
  }

  deliver(message: unknown): void {
    this.messages.push(message)
    const waiter = [...this.#waiters].find(each => each.accepts(message))
    if (waiter) waiter.resolve(message)
    else this.#unread.push(message)
  }

  close(reason: string): void {
    this.#closed = reason
    for (const waiter of this.#waiters) waiter.reject(reason)
  }

  next<T>(predicate: (message: T) => boolean, timeoutMs: number): Promise<T> {
    const index = this.#unread.findIndex(message => predicate(message as T))
    if (index !== -1) return Promise.resolve(this.#unread.splice(index, 1)[0] as T)
    if (this.#closed !== undefined) return Promise.reject(new Error(this.#describe(this.#closed)))
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
        finish()
      }
      const waiter: Waiter = {
        accepts: message => predicate(message as T),
        resolve: message => settle(() => resolve(message as T)),
        reject: reason => settle(() => reject(new Error(this.#describe(reason)))),
      }
      const timer = setTimeout(() => waiter.reject(`sent no such message within ${timeoutMs} ms`), timeoutMs)
      this.#waiters.add(waiter)
    })
  }
}
