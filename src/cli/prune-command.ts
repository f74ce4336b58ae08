/** `geneva prune`: removes workflows that ended long ago, or counts them. */
import { Option } from 'commander'
import type { EndedWorkflowState, Geneva } from '../index.ts'
import { AppCommand, type Asker, asked, asking, type Shared, wholeNumber, withGeneva } from './app-command.ts'
import { spanOf } from './filter-options.ts'
import { printJson, say } from './terminal.ts'

interface Flags extends Shared, Asker {
  readonly olderThan: string
  readonly state?: EndedWorkflowState[]
  readonly limit?: number
  readonly dryRun?: boolean
}

export function pruneCommand(): AppCommand {
  const command = new AppCommand('prune', {
    description: 'remove workflows that ended long ago, with all that belongs to them',
    examples: [
      ["prune --older-than '30 days' --dry-run", 'how many would go'],
      ["prune --older-than '30 days' --state finished", 'those that went well'],
    ],
  })
    .requiredOption('--older-than <duration>', "only what ended at least so long ago, like '30 days'")
    .addOption(
      new Option('--state <state...>', 'only what ended so (default: all ends)').choices([
        'finished',
        'failed',
        'canceled',
        'aborted',
      ]),
    )
    .option('--limit <count>', 'stop when so many are gone', wholeNumber(Number.MAX_SAFE_INTEGER))
    .option('--dry-run', 'count only, remove nothing')
  return asking(command)
    .locating()
    .action((flags: Flags) => withGeneva({ ...flags, looks: flags.dryRun === true }, geneva => prune(geneva, flags)))
}

async function prune(geneva: Geneva, flags: Flags): Promise<void> {
  const { olderThan, state, limit, dryRun = false, json } = flags
  const report = await geneva.prune({
    olderThan: spanOf(olderThan, '--older-than'),
    dryRun,
    ...asked(flags),
    ...(state === undefined ? {} : { states: state }),
    ...(limit === undefined ? {} : { limit }),
  })
  if (json) return printJson(report)
  const count = `${report.workflows} ${report.workflows === 1 ? 'workflow' : 'workflows'}`
  const rest = report.complete ? '' : ' The limit was reached; there may be more.'
  say(`${count} ${dryRun ? 'would be removed' : 'removed'}.${rest}`)
}
