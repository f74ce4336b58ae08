/** `geneva queues`: what stands in each queue, and holding one up. What is paused stays so until somebody resumes it. */
import type { Geneva, QueueStatus } from '../index.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { AppCommand, type Asker, asked, asking, type Shared, whileLooking, withGeneva } from './app-command.ts'
import { harmless, printJson, say } from './terminal.ts'

type Flags = Shared & Asker

export function queuesCommand(): AppCommand {
  return new AppCommand('queues', {
    description: 'list queues, pause one, or resume it',
    examples: [
      ['queues list', 'what stands where'],
      ["queues pause mail --by ann --reason 'the provider is down'", 'nothing of it begins any more'],
    ],
  })
    .addCommand(listCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
}

function listCommand(): AppCommand {
  return new AppCommand('list', {
    description: 'every queue in which something stands, or that is paused or limited',
    examples: [['queues list --json', 'for a program']],
  })
    .locating()
    .action((flags: Flags) =>
      whileLooking(flags, async ({ queues }) => {
        const found = await queues.list()
        if (flags.json) printJson({ items: found })
        else say(found.length === 0 ? 'No queues: nothing stands anywhere.' : harmless(found.map(lineOf).join('\n')))
      }),
    )
}

function pauseCommand(): AppCommand {
  const command = new AppCommand('pause', {
    description: 'let no execution of a queue begin, in any process; what runs goes on',
    examples: [["queues pause mail --by ann --reason 'the provider is down'", 'until somebody resumes it']],
  })
  return asking(command.argument('<queue>', 'the name of the queue'))
    .locating()
    .action((queue: string, flags: Flags) =>
      withGeneva(flags, async ({ queues }) => {
        await queues.pause(queue, asked(flags))
        await tell(queues, queue, flags)
      }),
    )
}

function resumeCommand(): AppCommand {
  const command = new AppCommand('resume', {
    description: 'let what has fallen due meanwhile begin, in order',
    examples: [['queues resume mail --by ann', 'goes on']],
  })
  return asking(command.argument('<queue>', 'the name of the queue'))
    .locating()
    .action((queue: string, flags: Flags) =>
      withGeneva(flags, async ({ queues }) => {
        await queues.resume(queue, asked(flags))
        await tell(queues, queue, flags)
      }),
    )
}

/** How the queue stands after the request; one that nobody has named and in which nothing stands is not there. */
async function tell(queues: Geneva['queues'], name: string, flags: Flags): Promise<void> {
  const found = (await queues.list()).find(queue => queue.name === name)
  if (flags.json) printJson(found ?? null)
  else say(harmless(found === undefined ? `${name}: nothing stands in it` : lineOf(found)))
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
  const since = pausedAt === null ? '' : ` since ${describeTime(pausedAt)}`
  return `PAUSED${since}${by}${why}`
}
