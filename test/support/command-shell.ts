/** Command lines for tests, many in one process: see `test/programs/command-shell.ts`. */
import type { CommandAnswer } from '../programs/command-shell.ts'
import type { Ended } from './run-geneva.ts'
import { type Program, spawnProgram } from './spawn-program.ts'

export class CommandShell {
  readonly #program: Program
  readonly #ready: Promise<unknown>
  #runs = 0

  /** `config` is the module of the application, copied for each run; without it none is found. */
  constructor(folder: string, config: string | null, env: NodeJS.ProcessEnv = {}) {
    const unset = { DATABASE_URL: undefined, GENEVA_APP: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined }
    this.#program = spawnProgram('command-shell', config === null ? [folder] : [folder, config], { ...unset, ...env })
    this.#ready = this.#program.nextMessage(message => message === 'ready', 60_000)
  }

  async run(...args: string[]): Promise<Ended> {
    await this.#ready
    const number = ++this.#runs
    this.#program.send({ number, args })
    const answer = await this.#program.nextMessage<CommandAnswer>(message => message.number === number, 60_000)
    return { code: answer.code, stdout: answer.stdout, stderr: answer.stderr }
  }

  /** What it prints as JSON. Throws if it fails, or prints anything else. */
  async json(...args: string[]): Promise<any> {
    const { code, stdout, stderr } = await this.run(...args, '--json')
    if (code === 0 && stderr === '') return JSON.parse(stdout)
    throw new Error(`geneva ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`)
  }
}
