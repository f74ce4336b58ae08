/** `geneva prune`: removes workflows that ended long ago, or counts them. */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Duration, EndedWorkflowState } from '../index.ts'
import { loadGeneva } from './load-geneva.ts'

interface PruneFlags {
  readonly olderThan: string
  readonly state?: EndedWorkflowState[]
  readonly limit?: number
  readonly dryRun?: boolean
  readonly json?: boolean
}

export function pruneCommand(): Command {
  return new Command('prune')
    .exitOverride()
    .description('remove workflows that ended long ago, with all that belongs to them')
    .argument('<module>', 'the module that exports your Geneva, as `geneva` or as its default')
    .requiredOption('--older-than <duration>', "only what ended at least so long ago, like '30 days'")
    .addOption(
      new Option('--state <state...>', 'only what ended so (default: all ends)').choices([
        'finished',
        'failed',
        'canceled',
        'aborted',
      ]),
    )
    .option('--limit <count>', 'stop when so many are gone', wholeNumber)
    .option('--dry-run', 'count only, remove nothing')
    .option('--json', 'print one JSON document')
    .addHelpText('after', "\nExample:\n  geneva prune ./dist/geneva.js --older-than '30 days' --dry-run")
    .action(prune)
}

async function prune(module: string, flags: PruneFlags): Promise<void> {
  const geneva = await loadGeneva(module)
  try {
    const { olderThan, state, limit, dryRun = false } = flags
    const report = await geneva.prune({
      olderThan: olderThan as Duration,
      dryRun,
      ...(state === undefined ? {} : { states: state }),
      ...(limit === undefined ? {} : { limit }),
    })
    if (flags.json) console.log(JSON.stringify({ ...report, dryRun }))
    else {
      const count = `${report.workflows} ${report.workflows === 1 ? 'workflow' : 'workflows'}`
      const rest = report.complete ? '' : ' The limit was reached; there may be more.'
      console.log(`${count} ${dryRun ? 'would be removed' : 'removed'}.${rest}`)
    }
  } finally {
    await geneva.close()
  }
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It takes a whole number above 0.')
}
