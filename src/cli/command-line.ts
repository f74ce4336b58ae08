#!/usr/bin/env node
/**
 * The command line. A person's mistake gets one line that says what to do; a stack trace is only for our own.
 */
import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import { isGenevaError } from '../index.ts'
import { checkCommand } from './check-command.ts'
import { dashboardCommand } from './dashboard-command.ts'
import { dlqCommand } from './dlq-command.ts'
import { doctorCommand } from './doctor-command.ts'
import { eventsCommand } from './events-command.ts'
import { explainCommand } from './explain-command.ts'
import { migrateCommand } from './migrate-command.ts'
import { healthCommand, statsCommand, stuckCommand } from './operate-commands.ts'
import { pruneCommand } from './prune-command.ts'
import { queuesCommand } from './queues-command.ts'

/** Exit codes are part of the interface: 1 something went wrong, 2 wrong usage, 3 the answer is no. */
const failed = 1
const wrongUsage = 2

const { version } = createRequire(import.meta.url)('geneva-drive/package.json') as { version: string }

const program = new Command('geneva')
  .description('Durable workflows on the database your application already has.')
  .version(version)
  .exitOverride()
  .showHelpAfterError('(geneva --help shows all commands)')
  .addCommand(dashboardCommand())
  .addCommand(migrateCommand())
  .addCommand(checkCommand())
  .addCommand(doctorCommand())
  .addCommand(eventsCommand())
  .addCommand(explainCommand())
  .addCommand(dlqCommand())
  .addCommand(queuesCommand())
  .addCommand(pruneCommand())
  .addCommand(stuckCommand())
  .addCommand(statsCommand())
  .addCommand(healthCommand())

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : wrongUsage
  else {
    process.exitCode = failed
    console.error(isGenevaError(error) ? `geneva: ${error.message}` : describe(error))
  }
}

/** What a driver throws is a fact about the database, not a bug here: its message is enough. */
function describe(error: unknown): string {
  if (error instanceof AggregateError) return `geneva: ${error.errors.map(inner => String(inner)).join('; ')}`
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (typeof code === 'string' && typeof message === 'string') return `geneva: ${message} (${code})`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
