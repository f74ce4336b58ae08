/** `geneva queues`: what stands in each queue, and holding one up. What is paused stays so until somebody resumes it. */
import { Command } from 'commander'
import type { Geneva, QueueStatus } from '../index.ts'
import { loadGeneva } from './load-geneva.ts'

interface Flags {
  readonly by?: string
  readonly reason?: string
  readonly json?: boolean
}

export function queuesCommand(): Command {
  return new Command('queues')
    .exitOverride()
    .description('list queues, pause one, or resume it')
    .addCommand(listCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
}

function listCommand(): Command {
  return command('list', 'every queue in which something stands, or that is paused or limited')
    .addHelpText('after', '\nExample:\n  geneva queues list ./dist/geneva.js --json')
    .action((module: string, flags: Flags) =>
      withGeneva(module, async ({ queues }) => {
        const found = await queues.list()
        if (flags.json) console.log(JSON.stringify(found))
        else console.log(found.length === 0 ? 'No queues: nothing stands anywhere.' : found.map(lineOf).join('\n'))
      }),
    )
}

function pauseCommand(): Command {
  return command('pause', 'let no execution of a queue begin, in any process; what runs goes on')
    .argument('<queue>', 'the name of the queue')
    .option('--by <name>', 'who asks, for the record')
    .option('--reason <text>', 'why, for the record')
    .addHelpText(
      'after',
      `\nExample:\n  geneva queues pause ./dist/geneva.js mail --by ann --reason 'the provider is down'`,
    )
    .action((module: string, queue: string, { by, reason, json }: Flags) =>
      withGeneva(module, async ({ queues }) => {
        await queues.pause(queue, { ...(by === undefined ? {} : { by }), ...(reason === undefined ? {} : { reason }) })
        await tell(queues, queue, json)
      }),
    )
}

function resumeCommand(): Command {
  return command('resume', 'let what has fallen due meanwhile begin, in order')
    .argument('<queue>', 'the name of the queue')
    .action((module: string, queue: string, { json }: Flags) =>
      withGeneva(module, async ({ queues }) => {
        await queues.resume(queue)
        await tell(queues, queue, json)
      }),
    )
}

function command(name: string, description: string): Command {
  return new Command(name)
    .exitOverride()
    .description(description)
    .argument('<module>', 'the module that exports your Geneva, as `geneva` or as its default')
    .option('--json', 'print one JSON document')
}

/** How the queue stands after the request; one that nobody has named and in which nothing stands is not there. */
async function tell(queues: Geneva['queues'], name: string, json: boolean | undefined): Promise<void> {
  const found = (await queues.list()).find(queue => queue.name === name)
  if (json) console.log(JSON.stringify(found ?? null))
  else console.log(found === undefined ? `${name}: nothing stands in it` : lineOf(found))
}

async function withGeneva(module: string, act: (geneva: Geneva) => Promise<void>): Promise<void> {
  const geneva = await loadGeneva(module)
  try {
    await act(geneva)
  } finally {
    await geneva.close()
  }
}

function lineOf(queue: QueueStatus): string {
  const { name, running, due, later, ageMs, concurrency, rate } = queue
  const oldest = due === 0 ? '' : ` (the oldest for ${Math.round(ageMs)} ms)`
  return [
    `${name}: ${running} running, ${due} due${oldest}, ${later} later`,
    ...(concurrency === null ? [] : [`at most ${concurrency} at once`]),
    ...(rate === null ? [] : [`at most ${rate.limit} in ${rate.perMs} ms`]),
    ...(queue.paused ? [pauseOf(queue)] : []),
  ].join(', ')
}

function pauseOf({ pausedAt, pausedBy, pauseReason }: QueueStatus): string {
  const by = pausedBy === null ? '' : ` by ${pausedBy}`
  const why = pauseReason === null ? '' : `: ${pauseReason}`
  return `PAUSED since ${pausedAt?.toISOString()}${by}${why}`
}
