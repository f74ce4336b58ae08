/**
 * A command that works on workflows: it knows where they are, prints JSON on request, and says in its help how it is used.
 * A module may be named by `--app` or among the arguments: ids and names do not look like one.
 */
import { Command, InvalidArgumentError, Option } from 'commander'
import { databaseUrlForms, type Geneva } from '../index.ts'
import { describeError } from '../primitives/describe-error.ts'
import { readValue } from '../primitives/read-value.ts'
import { findApp, findGeneva, looksLikeModule, type Where } from './find-geneva.ts'

/** The options that every command has. */
export interface Shared extends Where {
  readonly json?: boolean
}

interface Help {
  readonly description: string
  /** Command lines without the leading `geneva`, each with what it is for. */
  readonly examples: readonly (readonly [command: string, what: string])[]
  /** What there is to know besides, in whole sentences. */
  readonly more?: string
}

export class AppCommand extends Command {
  constructor(name: string, help: Help) {
    super(name)
    this.exitOverride()
      .enablePositionalOptions()
      .helpCommand(false)
      .description(help.description)
      .showHelpAfterError(`(geneva ${name} --help shows how it is used)`)
      .addHelpText('after', () => textAfter(this, help))
  }

  /** The options that say where the workflows are. `code`: a database alone is not enough. */
  locating(code = false): this {
    this.option('--json', 'print JSON, and nothing else, on standard output')
      .optionsGroup('Where the workflows are:')
      .option('--app <module>', 'the module that exports your Geneva (default: GENEVA_APP, or geneva.config.*)')
    if (!code) {
      this.option('-d, --database <url>', `no code, only a database: ${databaseUrlForms}`)
        .addOption(new Option('--prefix <text>', 'what the names of its tables begin with').hideHelp())
        .addOption(new Option('--schema <name>', 'the schema of its tables').hideHelp())
    }
    return this.optionsGroup('Options:')
  }

  override parseOptions(args: string[]): { operands: string[]; unknown: string[] } {
    const { operands, unknown } = super.parseOptions(args)
    const takesModule = this.options.some(({ long }) => long === '--app') && this.getOptionValue('app') === undefined
    const at = takesModule ? operands.findIndex(looksLikeModule) : -1
    if (at === -1) return { operands, unknown }
    this.setOptionValue('app', operands[at])
    return { operands: operands.toSpliced(at, 1), unknown }
  }
}

function textAfter(command: Command, { examples, more }: Help): string {
  const { columns = 80 } = process.stdout
  const width = Math.max(0, ...examples.map(([line]) => line.length))
  const fits = examples.every(([, what]) => width + what.length + 11 <= columns)
  const lines = examples.map(([line, what]) => {
    return fits ? `  geneva ${line.padEnd(width)}  ${what}` : `  geneva ${line}\n      ${what}`
  })
  const inner = command.commands.length === 0 ? [] : [`geneva ${command.name()} <command> --help says more.`]
  const words = [...(more === undefined ? [] : [more]), ...inner].map(text =>
    command.createHelp().boxWrap(text, columns),
  )
  return ['', 'Examples:', ...lines, ...(words.length === 0 ? [] : ['', ...words])].join('\n')
}

/** Opens the Geneva that the options name, and closes it whatever happens. */
export async function withGeneva<T>(where: Where, act: (geneva: Geneva) => Promise<T>): Promise<T> {
  return whileOpen(await findGeneva(where), act)
}

/** The same for commands that only look: the database stays as it is, whatever code is at hand. */
export async function whileLooking<T>(where: Where, act: (geneva: Geneva) => Promise<T>): Promise<T> {
  return withGeneva({ ...where, looks: true }, act)
}

/** The same as the first for what cannot do without the code. */
export async function withApp<T>(where: Where, act: (geneva: Geneva) => Promise<T>): Promise<T> {
  return whileOpen(await findApp(where), act)
}

async function whileOpen<T>(geneva: Geneva, act: (geneva: Geneva) => Promise<T>): Promise<T> {
  try {
    return await act(geneva)
  } finally {
    await geneva.close()
  }
}

export interface Asker {
  readonly by?: string
  readonly reason?: string
}

/** For commands that change something: who asks, and why. */
export function asking<C extends Command>(command: C): C {
  return command.option('--by <name>', 'who asks, for the record').option('--reason <text>', 'why, for the record') as C
}

/** Only what was given: an option that is there and undefined is not the same as one that is not. */
export function asked({ by, reason }: Asker): Asker {
  return { ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) }
}

/** An option that takes a JSON value, with tags as the commands print them: what they show may be given back. */
export function jsonValue(text: string): unknown {
  const json = parsed(text)
  try {
    return readValue(json)
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be read: ${describeError(error).message.replace(/\.?$/, '.')}`)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError(`It takes JSON, such as '{"name":"Ann"}' or '"text"'.`)
  }
}

/** An option that takes a whole number from 1 up to `most`. */
export function wholeNumber(most: number): (text: string) => number {
  return text => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : 0
    if (number >= 1 && number <= most) return number
    const range = most === Number.MAX_SAFE_INTEGER ? 'above 0' : `from 1 to ${most}`
    throw new InvalidArgumentError(`It takes a whole number ${range}.`)
  }
}
