/** `geneva executions`: attempts at steps of all workflows, by their state. It changes nothing. */
import { Option } from 'commander'
import { executionStates } from '../client/views/execution-list.ts'
import type { ExecutionListOptions, ExecutionSummary, Geneva, Page } from '../index.ts'
import { AppCommand, type Shared, whileLooking, wholeNumber } from './app-command.ts'
import { shortSpan } from './span-text.ts'
import { lineWidth, printJson, say, styled, table } from './terminal.ts'

interface Flags extends Shared {
  readonly state?: ExecutionSummary['state'][]
  readonly type?: string[]
  readonly step?: string
  readonly queue?: string
  readonly due?: boolean
  readonly notDue?: boolean
  readonly limit: number
  readonly cursor?: string
}

export function executionsCommand(): AppCommand {
  return new AppCommand('executions', {
    description: 'attempts at steps of all workflows by state: what is scheduled, runs, is suspended or waits',
    examples: [
      ['executions --state suspended --type Import', 'resumable steps that have stopped on the way'],
      ['executions --due --queue mail', 'what could run now, in one queue'],
      ['executions --state failed --step charge --json', 'failed attempts, newest first, for a program'],
    ],
    more: 'Without --state: those that have not ended. Of ended ones there may be very many: a rare state is looked for from the newest on.',
  })
    .optionsGroup('Which executions:')
    .addOption(new Option('--state <state...>', 'in one of these states').choices(executionStates))
    .option('--type <type...>', 'of workflows of these classes, by their stored names')
    .option('--step <step>', 'at this step; of an each step also its items')
    .option('--queue <queue>', 'in this queue')
    .option('--due', 'whose time has come')
    .addOption(new Option('--not-due', 'whose time has not come yet').conflicts('due'))
    .optionsGroup('Options:')
    .option('--limit <count>', 'how many at most', wholeNumber(500), 50)
    .option('--cursor <cursor>', 'go on where the page before ended')
    .locating()
    .action((flags: Flags) =>
      whileLooking(flags, async geneva => {
        const page = await wholePage(geneva, optionsFrom(flags), flags)
        if (flags.json) return printJson(page)
        say(page.items.length === 0 ? 'No executions.' : linesOf(page.items, new Date()).join('\n'))
        if (page.nextCursor !== null) say(styled('dim', `\nMore: --cursor ${page.nextCursor}`))
      }),
    )
}

function optionsFrom({ state, type, step, queue, due, notDue }: Flags): ExecutionListOptions {
  return {
    ...(state === undefined ? {} : { state }),
    ...(type === undefined ? {} : { type }),
    ...(step === undefined ? {} : { node: step }),
    ...(queue === undefined ? {} : { queue }),
    ...(due || notDue ? { due: due === true } : {}),
  }
}

/** A page may be short because looking has its time: who asks would rather wait until it is full, or all was seen. */
async function wholePage(
  geneva: Geneva,
  options: ExecutionListOptions,
  { limit, cursor: first }: Flags,
): Promise<Page<ExecutionSummary>> {
  const items: ExecutionSummary[] = []
  let cursor: string | null = first ?? null
  do {
    const place: { cursor?: string } = cursor === null ? {} : { cursor }
    const page = await geneva.views.executions({ ...options, ...place, limit: limit - items.length })
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null && items.length < limit)
  return { items, nextCursor: cursor }
}

function linesOf(items: readonly ExecutionSummary[], now: Date): string[] {
  return table(
    [
      { title: 'ID', of: ({ id }) => id },
      { title: 'WORKFLOW', of: ({ workflowId, type }) => `${type || '(graph)'} ${workflowId}` },
      { title: 'STEP', of: ({ name, kind }) => (kind === 'compensate' ? `${name} (undo)` : name) },
      { title: 'ATTEMPT', of: ({ attempt }) => String(attempt), alignRight: true },
      { title: 'STATE', of: ({ state }) => state },
      { title: 'WHEN', of: one => whenOf(one, now), alignRight: true },
      { title: 'WHAT', of: whatOf },
    ],
    items,
    lineWidth(),
  )
}

/** How long ago it ended or began, or how long it is until it is due. */
function whenOf({ endedAt, startedAt, scheduledFor, state }: ExecutionSummary, now: Date): string {
  const began = state === 'in_progress' ? startedAt : null
  const ms = now.getTime() - (endedAt ?? began ?? scheduledFor).getTime()
  return ms < 0 ? `in ${shortSpan(-ms)}` : shortSpan(ms)
}

function whatOf({ completed, total, queue, owner, outcome, error, reason }: ExecutionSummary): string {
  const done = total === null ? (completed === 0 ? [] : [`${completed} done`]) : [`${completed} of ${total}`]
  const where = queue === null || queue === '' || queue === 'default' ? [] : [`queue ${queue}`]
  const wrong = error === null ? (reason ?? []) : `${error.name}: ${error.message}`
  return [...done, ...where, owner === null || outcome !== null ? [] : `by ${owner}`, outcome ?? [], wrong]
    .flat()
    .join(' · ')
}
