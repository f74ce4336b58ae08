/** `geneva requests`: who paused, resumed or limited queues and schedules, or removed workflows, and why. It changes nothing. */
import { Option } from 'commander'
import type { RequestView } from '../index.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { AppCommand, type Shared, whileLooking, wholeNumber } from './app-command.ts'
import { printJson, say, styled, table } from './terminal.ts'

interface Flags extends Shared {
  readonly about?: 'queue' | 'schedule' | 'workflow'
  readonly limit: number
  readonly cursor?: string
}

export function requestsCommand(): AppCommand {
  return new AppCommand('requests', {
    description: 'who changed queues and schedules or removed workflows, and why, newest first',
    examples: [
      ['requests', 'the last fifty'],
      ['requests --about queue --json', 'only what was asked of queues, for a program'],
    ],
    more: 'What was asked of one workflow stands among its events: geneva events --workflow <id>.',
  })
    .addOption(
      new Option('--about <what>', 'only what was asked of queues, of schedules, or about all workflows').choices([
        'queue',
        'schedule',
        'workflow',
      ]),
    )
    .option('--limit <count>', 'how many at most', wholeNumber(500), 50)
    .option('--cursor <cursor>', 'go on where the page before ended')
    .locating()
    .action((flags: Flags) =>
      whileLooking(flags, async geneva => {
        const { about, limit, cursor } = flags
        const page = await geneva.views.requests({
          limit,
          ...(about === undefined ? {} : { about }),
          ...(cursor === undefined ? {} : { cursor }),
        })
        if (flags.json) return printJson(page)
        say(page.items.length === 0 ? 'Nobody has asked for anything yet.' : textOf(page.items))
        if (page.nextCursor !== null) say(styled('dim', `\nMore: --cursor ${page.nextCursor}`))
      }),
    )
}

function textOf(requests: readonly RequestView[]): string {
  return table(
    [
      { title: 'WHEN', of: ({ at }) => describeTime(at) },
      { title: 'WHAT', of: ({ action }) => action },
      { title: 'ABOUT', of: ({ name }) => name ?? '' },
      { title: 'BY', of: ({ by }) => by ?? '' },
      { title: 'WHY', of: whyOf },
    ],
    requests,
  ).join('\n')
}

function whyOf({ reason, detail }: RequestView): string {
  return [...(reason === null ? [] : [reason]), ...(detail === null ? [] : [JSON.stringify(detail)])].join(' ')
}
