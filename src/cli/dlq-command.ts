/** `geneva dlq`: dead letters, to look at and to handle. */
import { Option } from 'commander'
import { wireLetter, wireLetterDetail } from '../http/wire-values.ts'
import { type DeadLetter, type DiscardOptions, type Geneva, isGenevaError } from '../index.ts'
import { describeTime } from '../primitives/describe-time.ts'
import {
  AppCommand,
  type Asker,
  asked,
  asking,
  jsonValue,
  type Shared,
  whileLooking,
  wholeNumber,
  withGeneva,
} from './app-command.ts'
import { confirmed, saidNo } from './confirm.ts'
import { WrongUsage } from './exit-codes.ts'
import { harmless, note, printJson, say } from './terminal.ts'

export function dlqCommand(): AppCommand {
  return new AppCommand('dlq', {
    description: 'list, show, requeue or discard dead letters: work that was given up',
    examples: [
      ['dlq list --step charge', 'what was given up'],
      [`dlq requeue 17 --input '{"amount":5}' --by ann`, 'let it go on, with another input'],
    ],
  })
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(requeueCommand())
    .addCommand(discardCommand())
}

interface ListFlags extends Shared {
  readonly all?: boolean
  readonly step?: string
  readonly workflow?: string
  readonly limit: number
  readonly cursor?: string
}

const mostLetters = 1000
const mostNamed = 20

function listCommand(): AppCommand {
  return new AppCommand('list', {
    description: 'the letters that are open, newest first',
    examples: [['dlq list --step charge --json', 'of one step, for a program']],
  })
    .option('--all', 'also those that were handled')
    .option('--step <step>', 'only letters of this step')
    .option('--workflow <id>', 'only letters of this workflow')
    .option('--limit <count>', 'how many at most', wholeNumber(mostLetters - 1), 100)
    .option('--cursor <cursor>', 'go on where the page before ended')
    .locating()
    .action((flags: ListFlags) =>
      whileLooking(flags, async geneva => {
        const found = await geneva.deadLetters({
          limit: Math.min(flags.limit + 1, mostLetters),
          ...(flags.cursor === undefined ? {} : { before: flags.cursor }),
          ...(flags.all ? { state: 'all' as const } : {}),
          ...(flags.step === undefined ? {} : { step: flags.step }),
          ...(flags.workflow === undefined ? {} : { workflowId: flags.workflow }),
        })
        const letters = found.slice(0, flags.limit)
        const nextCursor = found.length > flags.limit ? (letters.at(-1)?.id ?? null) : null
        if (flags.json) printJson({ items: letters.map(wireLetter), nextCursor })
        else say(harmless(letters.length === 0 ? 'No dead letters.' : letters.map(lineOf).join('\n')))
        if (!flags.json && nextCursor !== null) say(`More: --cursor ${nextCursor}`)
      }),
    )
}

function showCommand(): AppCommand {
  return new AppCommand('show', {
    description: 'one letter, with its input, the error and its stack',
    examples: [['dlq show 17', 'why it was given up']],
  })
    .argument('<letter>', 'the id of the letter')
    .locating()
    .action((id: string, flags: Shared) =>
      whileLooking(flags, async geneva => {
        const letter = await letterOrHint(geneva, id)
        if (flags.json) return printJson(await detailOf(geneva, id))
        say(harmless(textOf(letter, await geneva.views.inputOf(letter.executionId))))
      }),
    )
}

/** Who gives the id of a workflow is told its letters. */
async function letterOrHint(geneva: Geneva, id: string): Promise<DeadLetter> {
  try {
    return await geneva.deadLetter(id)
  } catch (error) {
    if (!isGenevaError(error, 'LETTER_NOT_FOUND') || (await geneva.find(id)) === null) throw error
    const letters = await geneva.deadLetters({ workflowId: id, state: 'all', limit: mostNamed })
    const named = letters.map(letter => `${letter.id} (step ${letter.step}, ${letter.state})`)
    const whose = named.length === 0 ? 'which has none' : `whose letters are ${named.join(', ')}`
    throw new WrongUsage(`There is no dead letter ${id}. It is the id of a workflow, ${whose}.`)
  }
}

function requeueCommand(): AppCommand {
  const command = new AppCommand('requeue', {
    description: 'let the work of letters go on',
    examples: [[`dlq requeue 17 18 --input '{"amount":5}' --by ann`, 'with another input']],
  })
    .argument('<letter...>', 'the ids of the letters')
    .option('--input <json>', 'what they work on from now on', jsonValue)
  return asking(command)
    .locating()
    .action((ids: string[], flags: Shared & Asker & { readonly input?: unknown }) =>
      withGeneva(flags, async geneva => {
        const input = 'input' in flags ? { input: flags.input } : {}
        await handleEach(ids, 'requeued', id => geneva.requeue(id, { ...asked(flags), ...input }))
        if (flags.json) printJson({ items: await Promise.all(ids.map(id => detailOf(geneva, id))) })
        else say(`${ids.length} requeued.`)
      }),
    )
}

interface DiscardFlags extends Shared, Asker {
  readonly skip?: boolean
  readonly then: NonNullable<DiscardOptions['then']>
  readonly yes?: boolean
  readonly dryRun?: boolean
}

const becomes: Readonly<Record<DiscardFlags['then'], (whose: string) => string>> = {
  cancel: whose => `cancel ${whose}`,
  skip: whose => `let ${whose} go on without the step`,
  rollback: whose => `roll ${whose} back`,
  abort: whose => `abort ${whose}`,
}

function discardCommand(): AppCommand {
  const command = new AppCommand('discard', {
    description: 'give letters up for good, and cancel their workflows',
    examples: [
      ['dlq discard 17 --then skip --by ann', 'the workflow goes on without the step'],
      ['dlq discard 17 --yes', 'without a question, for a script'],
    ],
    more: 'The letter of a compensation is only closed: its workflow stays as it is. Exit code 3: you said no.',
  })
    .argument('<letter...>', 'the ids of the letters')
    .addOption(
      new Option('--then <what>', 'what becomes of the workflows')
        .choices(['cancel', 'skip', 'rollback', 'abort'])
        .default('cancel'),
    )
    .option('--skip', 'short for --then skip')
    .option('--dry-run', 'tell what would happen, and change nothing')
    .option('-y, --yes', 'do not ask')
  return asking(command)
    .locating()
    .action((ids: string[], flags: DiscardFlags) =>
      withGeneva({ ...flags, looks: flags.dryRun === true }, geneva => discard(geneva, ids, flags)),
    )
}

async function discard(geneva: Geneva, ids: readonly string[], flags: DiscardFlags): Promise<void> {
  const then = flags.skip ? 'skip' : flags.then
  const details = async () => ({ items: await Promise.all(ids.map(id => detailOf(geneva, id))) })
  if (flags.dryRun && flags.json) return printJson(await details())
  const letters = await Promise.all(ids.map(id => geneva.deadLetter(id)))
  const lines = harmless(letters.map(lineOf).join('\n'))
  const what = discarded(letters, then)
  if (flags.dryRun) return say(`Would discard ${what}:\n${lines}\nNothing was changed.`)
  // A workflow that goes on is not asked about, as with `geneva skip`.
  const isFinal = then !== 'skip'
  if (isFinal && !flags.json && !flags.yes) note(lines)
  if (isFinal && !(await confirmed(`Discard ${what}?`, flags))) return saidNo()
  await handleEach(ids, 'discarded', id => geneva.discard(id, { ...asked(flags), then }))
  if (flags.json) printJson(await details())
  else say(`${ids.length} discarded.`)
}

/** Each is a transaction of its own: where one fails, those before it are done, and whoever asked has to know which. */
async function handleEach(ids: readonly string[], past: string, handle: (id: string) => Promise<void>): Promise<void> {
  for (const [index, id] of ids.entries()) {
    try {
      await handle(id)
    } catch (error) {
      if (index > 0) note(`Only ${ids.slice(0, index).join(', ')} ${past}, not ${ids.slice(index).join(', ')}.`)
      throw error
    }
  }
}

function discarded(letters: readonly DeadLetter[], then: DiscardFlags['then']): string {
  const [count, whose] =
    letters.length === 1 ? ['1 dead letter', 'its workflow'] : [`${letters.length} dead letters`, 'their workflows']
  return letters.some(({ kind }) => kind === 'forward') ? `${count}, and ${becomes[then](whose)}` : count
}

/** The same document as the HTTP API has. */
async function detailOf(geneva: Geneva, id: string): Promise<object> {
  const letter = await geneva.deadLetter(id)
  return wireLetterDetail(geneva.views, letter)
}

function lineOf(letter: DeadLetter): string {
  const { id, workflowType, workflowId, step, kind, attempt, reason, state, error } = letter
  const what = `${workflowType === '' ? 'workflow' : workflowType} ${workflowId}`
  const why = error === null ? '' : `: ${error.className}: ${error.message.split('\n')[0]}`
  const handled = state === 'open' ? '' : ` (${state})`
  return `${id}  ${what}, ${kind === 'compensate' ? 'undoing ' : ''}step ${step}, attempt ${attempt}, ${reason}${why}${handled}`
}

function textOf(letter: DeadLetter, input: unknown): string {
  const { kind, createdAt, state, handledAt, handledBy, handledReason, error } = letter
  const by = handledBy === null ? '' : ` by ${handledBy}`
  const why = handledReason === null ? '' : `: ${handledReason}`
  const handled = handledAt === null ? 'Open.' : `${state} at ${describeTime(handledAt)}${by}${why}`
  const worked = input === null ? 'none of its own' : JSON.stringify(input)
  return [
    lineOf(letter),
    `Given up at ${describeTime(createdAt)}.`,
    handled,
    ...(kind === 'compensate' ? [] : [`Input: ${worked}`]),
    ...(error?.stack ? [error.stack] : []),
  ].join('\n')
}
