/**
 * One run of the command line: finds the command, runs it, and says by the exit code of the process how it went. A person's
 * mistake gets one line that says what to do; a stack trace is only for our own.
 */
import { createRequire } from 'node:module'
import { type Argument, Command, CommanderError } from 'commander'
import { isGenevaError } from '../index.ts'
import { checkCommand } from './check-command.ts'
import { completionCommand } from './completion-command.ts'
import { dashboardCommand } from './dashboard-command.ts'
import { dlqCommand } from './dlq-command.ts'
import { doctorCommand } from './doctor-command.ts'
import { eventsCommand } from './events-command.ts'
import { executionsCommand } from './executions-command.ts'
import { failed, WrongUsage, wrongUsage } from './exit-codes.ts'
import { explainCommand } from './explain-command.ts'
import { graphCommand } from './graph-command.ts'
import { initCommand } from './init-command.ts'
import { listCommand } from './list-command.ts'
import { migrateCommand } from './migrate-command.ts'
import { healthCommand, statsCommand, stuckCommand } from './operate-commands.ts'
import { pruneCommand } from './prune-command.ts'
import { queuesCommand } from './queues-command.ts'
import { requestsCommand } from './requests-command.ts'
import { scheduleCommand } from './schedule-command.ts'
import { showCommand } from './show-command.ts'
import { startCommand } from './start-command.ts'
import { steerCommands } from './steer-commands.ts'
import { decideCommand, signalCommand } from './tell-commands.ts'
import { harmless, note, wrapped } from './terminal.ts'
import { workerCommand } from './worker-command.ts'

const { version } = createRequire(import.meta.url)('geneva-drive/package.json') as { version: string }

/** Made anew for each run: a command keeps the options that it was given. */
function groups(): readonly (readonly [string, readonly Command[]])[] {
  return [
    ['Begin:', [initCommand(), migrateCommand(), workerCommand(), startCommand()]],
    [
      'Look:',
      [
        listCommand(),
        executionsCommand(),
        showCommand(),
        explainCommand(),
        graphCommand(),
        eventsCommand(),
        dashboardCommand(),
      ],
    ],
    ['Steer:', [...steerCommands(), decideCommand(), signalCommand()]],
    [
      'Operate:',
      [
        dlqCommand(),
        queuesCommand(),
        scheduleCommand(),
        statsCommand(),
        stuckCommand(),
        healthCommand(),
        requestsCommand(),
      ],
    ],
    ['Keep in order:', [checkCommand(), doctorCommand(), pruneCommand(), completionCommand()]],
  ]
}

const noColor = '--no-color'

const closing = [
  'Every command finds your workflows by a module that exports `geneva`: --app, GENEVA_APP, or geneva.config.* in this folder.',
  'Most need only a database: --database or DATABASE_URL. All print JSON with --json.',
  'Exit codes: 0 done, 1 it went wrong, 2 wrong usage, 3 the answer is no. --no-color or NO_COLOR: without colours.',
]

/** Every command, with its options and its help. */
export function makeProgram(): Command {
  const program = new Command('geneva')
    .description('Durable workflows on the database your application already has.')
    .version(version)
    .exitOverride()
    .enablePositionalOptions()
    .helpCommand(false)
    .configureHelp({
      subcommandTerm: command => [command.name(), ...command.registeredArguments.map(wordFor)].join(' '),
    })
    .showHelpAfterError('(geneva --help shows all commands)')
    .addHelpText('after', () => `\n${closing.map(line => wrapped(line, process.stdout.columns)).join('\n')}`)
  for (const [group, commands] of groups()) {
    program.commandsGroup(group)
    for (const command of commands) program.addCommand(command)
  }
  return program
}

/** Never rejects: what goes wrong is told on standard error and by `process.exitCode`. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  // Before the command is looked at, so that it may stand anywhere.
  if (args.includes(noColor)) process.env.NO_COLOR = '1'
  const words = args.filter(word => word !== noColor)
  try {
    refuseOtherWords(words)
    await makeProgram().parseAsync(words, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : wrongUsage
    else {
      process.exitCode = error instanceof WrongUsage ? wrongUsage : failed
      note(wrapped(harmless(describe(error)), process.stderr.isTTY ? process.stderr.columns : undefined))
    }
  }
}

function wordFor(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}

/** The same for a person at a terminal as for one who writes code. */
const commandFor: Readonly<Record<string, string>> = {
  'geneva.deadLetters()': 'geneva dlq list',
  'geneva.schedules.list()': 'geneva schedule list',
  'wf.decisions()': 'geneva show',
}

/** What other tools call it, and no spelling would lead to. */
const otherWords: Readonly<Record<string, string>> = {
  retry: '`geneva reattempt` tries a failed step once more, `geneva dlq requeue` what was given up.',
}

function refuseOtherWords([command = '']: readonly string[]): void {
  const instead = Object.hasOwn(otherWords, command) ? otherWords[command] : undefined
  if (instead !== undefined) throw new WrongUsage(`There is no command ${command}: ${instead}`)
}

/** The server is not there, or something between here and there does not let us through. */
const unreachable = ['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']

/** What a driver throws is a fact about the database, not a bug here: its message is enough. */
function describe(error: unknown): string {
  if (isGenevaError(error) || error instanceof WrongUsage) {
    return `geneva: ${error.message.replace(/`((?:geneva|wf)\.[\w.]+\(\))`/g, (all, call) => (commandFor[call] ? `\`${commandFor[call]}\`` : all))}`
  }
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && unreachable.includes(code)) {
    return `geneva: The database does not answer: ${causeOf(error)}. Is it running, and is its address right?`
  }
  if (error instanceof AggregateError) return `geneva: ${causeOf(error)}`
  if (typeof code === 'string' && typeof message === 'string') return `geneva: ${message} (${code})`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** A host with several addresses fails with an error for each. */
function causeOf(error: unknown): string {
  const causes = error instanceof AggregateError ? error.errors : [error]
  return [...new Set(causes.map(cause => (cause instanceof Error ? cause.message : String(cause))))].join('; ')
}
