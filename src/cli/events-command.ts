/** `geneva events`: prints the record of events, as lines for people or one JSON document each, and goes on if asked to. */
import type { EventName, GenevaEvent } from '../index.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { AppCommand, type Shared, whileLooking } from './app-command.ts'
import { harmless, note, printJson, say } from './terminal.ts'

interface Options extends Shared {
  readonly after?: string
  readonly type?: EventName[]
  readonly workflow?: string
  readonly follow?: boolean
}

export function eventsCommand(): AppCommand {
  return new AppCommand('events', {
    description: 'print what happened to all workflows, or to one',
    examples: [
      ['events --workflow 4711', 'what happened to one workflow'],
      ['events --follow --after now --type step.failed', 'every failure from now on'],
      ['events --json --after 81240', 'for a program that goes on where it stopped'],
    ],
    more: 'With --json one JSON document a line, also without --follow.',
  })
    .option('--after <position>', 'go on after this position, or `now`')
    .option('--type <type...>', 'only events of these types')
    .option('--workflow <id>', 'only the workflow with this id')
    .option('--follow', 'go on printing what comes')
    .locating()
    .action(events)
}

async function events(flags: Options): Promise<void> {
  const { after, type, workflow, follow = false } = flags
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  await whileLooking(flags, async geneva => {
    const options = {
      follow,
      after,
      signal: stop.signal,
      ...(type === undefined ? {} : { types: type }),
      ...(workflow === undefined ? {} : { workflow }),
    }
    let printed = 0
    for await (const event of geneva.events(options)) {
      printed++
      if (flags.json) printJson(event)
      else say(harmless(lineOf(event)))
    }
    if (printed === 0 && !follow) note('No events fit.')
  })
}

function lineOf(event: GenevaEvent): string {
  const { position, at, type, workflow, workflowId, by, reason } = event
  const step = 'step' in event ? `${event.step}${event.attempt > 1 ? ` (attempt ${event.attempt})` : ''}` : ''
  const error = 'error' in event && event.error !== null ? `${event.error.className}: ${event.error.message}` : ''
  const payload = 'payload' in event ? jsonOf(event.payload) : ''
  const outcome = 'outcome' in event ? (event.outcome ?? '') : ''
  const more = [step, outcome, error, payload, reason ?? '', by === null ? '' : `by ${by}`].filter(text => text !== '')
  const head = `${position} ${describeTime(at)} ${type} ${workflow === '' ? 'workflow' : workflow} ${workflowId}`
  return [head, ...more.map(text => text.split('\n')[0])].join(', ')
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? String(part) : part))
}
