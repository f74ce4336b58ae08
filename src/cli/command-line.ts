#!/usr/bin/env node
/** The program `geneva`. */
import { failed } from './exit-codes.ts'
import { runCommandLine } from './run-command-line.ts'

// A reader that has seen enough, such as `head`, is no error.
process.stdout.on('error', error => process.exit((error as { code?: string }).code === 'EPIPE' ? 0 : failed))

await runCommandLine(process.argv.slice(2))
