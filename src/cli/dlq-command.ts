/** `geneva dlq`: dead letters, to look at and to handle. */
import { Command, InvalidArgumentError } from 'commander'
import type { DeadLetter, Geneva } from '../index.ts'
import { loadGeneva } from './load-geneva.ts'

interface Who {
  readonly by?: string
  readonly reason?: string
}

export function dlqCommand(): Command {
  return new Command('dlq')
    .description('list, show, requeue or discard dead letters: work that was given up')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(requeueCommand())
    .addCommand(discardCommand())
}

function listCommand(): Command {
  return command('list', 'the letters that are open, newest first')
    .option('--all', 'also those that were handled')
    .option('--step <step>', 'only letters of this step')
    .option('--workflow <id>', 'only letters of this workflow')
    .option('--limit <count>', 'how many at most', wholeNumber, 100)
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  geneva dlq list ./dist/geneva.js --step charge')
    .action(async (module: string, flags: ListFlags) => {
      await withGeneva(module, async geneva => {
        const letters = await geneva.deadLetters({
          limit: flags.limit,
          ...(flags.all ? { state: 'all' as const } : {}),
          ...(flags.step === undefined ? {} : { step: flags.step }),
          ...(flags.workflow === undefined ? {} : { workflowId: flags.workflow }),
        })
        if (flags.json) console.log(JSON.stringify(letters))
        else console.log(letters.length === 0 ? 'No dead letters.' : letters.map(lineOf).join('\n'))
      })
    })
}

interface ListFlags {
  readonly all?: boolean
  readonly step?: string
  readonly workflow?: string
  readonly limit: number
  readonly json?: boolean
}

function showCommand(): Command {
  return command('show', 'one letter, with the error and its stack')
    .argument('<letter>', 'the id of the letter')
    .option('--json', 'print one JSON document')
    .action(async (module: string, id: string, flags: { readonly json?: boolean }) => {
      await withGeneva(module, async geneva => {
        const letter = await geneva.deadLetter(id)
        console.log(flags.json ? JSON.stringify(letter) : textOf(letter))
      })
    })
}

function requeueCommand(): Command {
  return asking(command('requeue', 'let the work of letters go on'))
    .argument('<letter...>', 'the ids of the letters')
    .option('--input <json>', 'what they work on from now on', json)
    .action(async (module: string, ids: string[], flags: Who & { readonly input?: unknown }) => {
      await withGeneva(module, async geneva => {
        const input = 'input' in flags ? { input: flags.input } : {}
        for (const id of ids) await geneva.requeue(id, { ...who(flags), ...input })
        console.log(`${ids.length} requeued.`)
      })
    })
}

function discardCommand(): Command {
  return asking(command('discard', 'give letters up for good, and cancel their workflows'))
    .argument('<letter...>', 'the ids of the letters')
    .option('--skip', 'let the workflows go on without the steps')
    .action(async (module: string, ids: string[], flags: Who & { readonly skip?: boolean }) => {
      await withGeneva(module, async geneva => {
        for (const id of ids) await geneva.discard(id, { ...who(flags), then: flags.skip ? 'skip' : 'cancel' })
        console.log(`${ids.length} discarded.`)
      })
    })
}

function command(name: string, description: string): Command {
  return new Command(name)
    .exitOverride()
    .description(description)
    .argument('<module>', 'the module that exports your Geneva, as `geneva` or as its default')
}

function asking(given: Command): Command {
  return given.option('--by <name>', 'who asks, for the record').option('--reason <text>', 'why, for the record')
}

function who({ by, reason }: Who): Who {
  return { ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) }
}

async function withGeneva(module: string, act: (geneva: Geneva) => Promise<void>): Promise<void> {
  const geneva = await loadGeneva(module)
  try {
    await act(geneva)
  } finally {
    await geneva.close()
  }
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

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('It takes JSON.')
  }
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It takes a whole number from 1 to 1000.')
}
