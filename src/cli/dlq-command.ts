/** `geneva dlq`: dead letters, to look at and to handle. */
import { Option } from 'commander'
import { wireLetter } from '../http/wire-values.ts'
import type { DeadLetter, DiscardOptions, Geneva } from '../index.ts'
import {
  AppCommand,
  type Asker,
  asked,
  asking,
  jsonValue,
  type Shared,
  wholeNumber,
  withGeneva,
} from './app-command.ts'
import { harmless, printJson, say } from './terminal.ts'

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
      withGeneva(flags, async geneva => {
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
    description: 'one letter, with the error and its stack',
    examples: [['dlq show 17', 'why it was given up']],
  })
    .argument('<letter>', 'the id of the letter')
    .locating()
    .action((id: string, flags: Shared) =>
      withGeneva(flags, async geneva => {
        if (flags.json) printJson(await detailOf(geneva, id))
        else say(harmless(textOf(await geneva.deadLetter(id))))
      }),
    )
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
        for (const id of ids) await geneva.requeue(id, { ...asked(flags), ...input })
        if (flags.json) printJson({ items: await Promise.all(ids.map(id => detailOf(geneva, id))) })
        else say(`${ids.length} requeued.`)
      }),
    )
}

interface DiscardFlags extends Shared, Asker {
  readonly skip?: boolean
  readonly then: NonNullable<DiscardOptions['then']>
}

function discardCommand(): AppCommand {
  const command = new AppCommand('discard', {
    description: 'give letters up for good, and cancel their workflows',
    examples: [['dlq discard 17 --then skip --by ann', 'the workflow goes on without the step']],
  })
    .argument('<letter...>', 'the ids of the letters')
    .addOption(
      new Option('--then <what>', 'what becomes of the workflows')
        .choices(['cancel', 'skip', 'rollback', 'abort'])
        .default('cancel'),
    )
    .option('--skip', 'short for --then skip')
  return asking(command)
    .locating()
    .action((ids: string[], flags: DiscardFlags) =>
      withGeneva(flags, async geneva => {
        for (const id of ids) await geneva.discard(id, { ...asked(flags), then: flags.skip ? 'skip' : flags.then })
        if (flags.json) printJson({ items: await Promise.all(ids.map(id => detailOf(geneva, id))) })
        else say(`${ids.length} discarded.`)
      }),
    )
}

/** The same document as the HTTP API has. */
async function detailOf(geneva: Geneva, id: string): Promise<object> {
  const letter = await geneva.deadLetter(id)
  return { ...wireLetter(letter), input: await geneva.views.inputOf(letter.executionId) }
}

function lineOf({ id, workflowType, workflowId, step, attempt, reason, state, error }: DeadLetter): string {
  const what = `${workflowType === '' ? 'workflow' : workflowType} ${workflowId}`
  const why = error === null ? '' : `: ${error.className}: ${error.message.split('\n')[0]}`
  const handled = state === 'open' ? '' : ` (${state})`
  return `${id}  ${what}, step ${step}, attempt ${attempt}, ${reason}${why}${handled}`
}

function textOf(letter: DeadLetter): string {
  const { createdAt, state, handledAt, handledBy, handledReason, error } = letter
  const by = handledBy === null ? '' : ` by ${handledBy}`
  const why = handledReason === null ? '' : `: ${handledReason}`
  const handled = handledAt === null ? 'Open.' : `${state} at ${handledAt.toISOString()}${by}${why}`
  return [lineOf(letter), `Given up at ${createdAt.toISOString()}.`, handled, error?.stack ?? ''].join('\n').trimEnd()
}
