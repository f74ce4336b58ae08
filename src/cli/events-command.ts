/** `geneva events`: prints the record of events, as lines for people or one JSON document each, and goes on if asked to. */
import { Command } from 'commander'
import type { EventName, GenevaEvent } from '../index.ts'
import { loadGeneva } from './load-geneva.ts'

interface Options {
  readonly after?: string
  readonly type?: EventName[]
  readonly workflow?: string
  readonly follow?: boolean
  readonly json?: boolean
}

export function eventsCommand(): Command {
  return new Command('events')
    .description('print what happened to all workflows, or to one')
    .argument('<module>', 'the module that exports your Geneva, as `geneva` or as its default')
    .option('--after <position>', 'go on after this position, or `now`')
    .option('--type <type...>', 'only events of these types')
    .option('--workflow <id>', 'only the workflow with this id')
    .option('--follow', 'go on printing what comes')
    .option('--json', 'print one JSON document a line')
    .addHelpText('after', '\nExample:\n  geneva events ./dist/geneva.js --follow --after now --type step.failed')
    .action(events)
}

async function events(module: string, { after, type, workflow, follow = false, json }: Options): Promise<void> {
  const geneva = await loadGeneva(module)
  try {
    const options = {
      follow,
      after,
      ...(type === undefined ? {} : { types: type }),
      ...(workflow === undefined ? {} : { workflow }),
    }
    for await (const event of geneva.events(options)) console.log(json ? jsonOf(event) : lineOf(event))
  } finally {
    await geneva.close()
  }
}

/** A payload may hold numbers that JSON does not know. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? String(part) : part))
}

function lineOf(event: GenevaEvent): string {
  const { position, at, type, workflow, workflowId, by, reason } = event
  const step = 'step' in event ? `${event.step}${event.attempt > 1 ? ` (attempt ${event.attempt})` : ''}` : ''
  const error = 'error' in event && event.error !== null ? `${event.error.className}: ${event.error.message}` : ''
  const payload = 'payload' in event ? jsonOf(event.payload) : ''
  const outcome = 'outcome' in event ? event.outcome : ''
  const more = [step, outcome, error, payload, reason ?? '', by === null ? '' : `by ${by}`].filter(text => text !== '')
  const head = `${position} ${at.toISOString()} ${type} ${workflow === '' ? 'workflow' : workflow} ${workflowId}`
  return [head, ...more.map(text => text.split('\n')[0])].join(', ')
}
