/** `geneva list`: workflows, newest first, by whatever one knows of them; with `--watch` as they move. */
import { Option } from 'commander'
import type { Geneva, SummaryPage, ViewOptions, WorkflowSummary } from '../index.ts'
import { AppCommand, type Shared, whileLooking, wholeNumber } from './app-command.ts'
import { type FilterFlags, filterFrom, filtering, spanOf } from './filter-options.ts'
import { shortSpan } from './span-text.ts'
import { harmless, lineWidth, paintState, printJson, say, styled, table } from './terminal.ts'
import { unknownTypes } from './unknown-types.ts'
import { type Look, watchScreen } from './watch-screen.ts'

interface Flags extends Shared, FilterFlags {
  readonly limit?: number
  readonly cursor?: string
  readonly watch?: boolean
  readonly every: string
}

const notAll = 'Not all were looked at: more records begin so than a search looks through. Search for more of the id.'

export function listCommand(): AppCommand {
  const command = new AppCommand('list', {
    description: 'workflows by state, class, record, age or error, newest first',
    examples: [
      ['list', 'the newest'],
      ['list --state paused dlq --error CardDeclined', 'what a person has to look at'],
      ["list --state active --older-than '1 day'", 'what takes long'],
      ['list --hero Order:42', 'everything about one record'],
      ['list --watch --state active', 'as they move; q ends it'],
    ],
    more: 'With --json one document, { items, nextCursor, capped }; with --watch --json one a line, whenever it has changed.',
  })
  return filtering(command)
    .option('--limit <count>', 'how many at most', wholeNumber(500))
    .option('--cursor <cursor>', 'go on where the page before ended')
    .option('-w, --watch', 'look again and again')
    .addOption(everyOption())
    .locating()
    .action((flags: Flags) => whileLooking(flags, geneva => list(geneva, flags)))
}

export function everyOption(): Option {
  return new Option('--every <duration>', 'how often to look again').default('1 second')
}

async function list(geneva: Geneva, flags: Flags): Promise<void> {
  if (flags.watch) {
    return watchScreen(() => lookAt(geneva, flags), {
      json: flags.json === true,
      everyMs: spanOf(flags.every, '--every'),
    })
  }
  const { lines, json } = await lookAt(geneva, flags)
  if (flags.json) printJson(json)
  else say(lines.join('\n'))
}

async function lookAt(geneva: Geneva, flags: Flags): Promise<Look> {
  const onScreen = process.stdout.isTTY === true && flags.watch === true
  const limit = flags.limit ?? (onScreen ? Math.max(1, Math.min(500, (process.stdout.rows || 24) - 4)) : 50)
  const page = await wholePage(geneva, { ...filterFrom(flags), limit }, flags)
  const hint = page.items.length === 0 ? await unknownTypes(geneva, flags.type) : null
  const more = page.nextCursor === null ? [] : ['', styled('dim', `More: --cursor ${page.nextCursor}`)]
  const lines = [
    ...linesOf(page.items, new Date()),
    ...(hint === null ? [] : [harmless(hint)]),
    ...(page.capped ? ['', styled('yellow', notAll)] : []),
    ...(flags.watch ? [] : more),
  ]
  return { lines, json: page, isLast: false }
}

/** A page may be short because looking has its time. Who does not watch would rather wait until it is full, or all was seen. */
async function wholePage(
  geneva: Geneva,
  filter: ViewOptions & { readonly limit: number },
  { cursor: first, watch }: Flags,
): Promise<SummaryPage> {
  const items: WorkflowSummary[] = []
  let cursor: string | null = first ?? null
  let capped = false
  do {
    const limit = filter.limit - items.length
    const page: SummaryPage = await geneva.views.workflows({
      ...filter,
      limit,
      ...(cursor === null ? {} : { cursor }),
    })
    items.push(...page.items)
    cursor = page.nextCursor
    capped ||= page.capped
  } while (!watch && cursor !== null && items.length < filter.limit)
  return { items, nextCursor: cursor, capped }
}

function linesOf(items: readonly WorkflowSummary[], now: Date): string[] {
  if (items.length === 0) return ['No workflows.']
  return table(
    [
      { title: 'ID', of: ({ id }) => id },
      { title: 'TYPE', of: ({ type }) => type || '(graph)' },
      { title: 'HERO', of: ({ hero }) => (hero === null ? '' : `${hero.type}:${hero.id}`) },
      { title: 'STATE', of: ({ state }) => state, paint: (text, { state }) => paintState(text, state) },
      { title: 'AGE', of: ({ createdAt }) => shortSpan(now.getTime() - createdAt.getTime()), alignRight: true },
      { title: 'AT', of: standing },
    ],
    items,
    lineWidth(),
  )
}

/** Where it stands, how far it has come, and what went wrong. */
function standing({ at, progress, error, state }: WorkflowSummary): string {
  const done = progress === null ? [] : [`${progress.done} of ${progress.total}`]
  const wrong = error === null || state === 'finished' ? [] : [error]
  // The error names its step as well.
  const where = at.length === 0 || error?.startsWith(`${at.join(', ')}: `) ? [] : [at.join(', ')]
  return [...where, ...done, ...wrong].join(' · ')
}
