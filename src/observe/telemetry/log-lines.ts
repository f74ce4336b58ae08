/**
 * Writes down what workers and the engine do, for people who look for a cause: facts with the ids of what they are about,
 * and a message. It logs nothing of what steps say themselves. Whatever the logger does, the engine goes on.
 */
import type { CommittedEvent } from '../../store/event-store.ts'
import type { ErrorIds } from '../../worker/error-listener.ts'
import type { WorkerNotice } from '../../worker/worker-watch.ts'
import { removedIn } from '../event-from.ts'
import { quietly } from './open-telemetry-traces.ts'

/** What a logger must have. One of pino fits as it is. */
export interface Logger {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

type Level = keyof Logger

export class LogLines {
  readonly #logger: Logger

  constructor(logger: Logger) {
    this.#logger = logger
  }

  events(events: readonly CommittedEvent[]): void {
    for (const committed of events) {
      const line = lineOf(committed)
      if (line !== null) this.#write(line[0], eventFacts(committed), line[1])
    }
  }

  notice(notice: WorkerNotice): void {
    const [level, message, facts = {}] = noticeLine(notice)
    this.#write(level, { workerId: notice.workerId, ...facts }, message)
  }

  error(error: unknown, ids: ErrorIds): void {
    const what = 'step' in ids ? 'step' : 'schedule' in ids ? 'schedule' : 'worker'
    this.#write('error', { pid: process.pid, ...ids, err: error }, `error of a ${what}`)
  }

  #write(level: Level, facts: object, message: string): void {
    quietly(() => this.#logger[level](facts, message))
  }
}

function noticeLine(notice: WorkerNotice): readonly [Level, string, object?] {
  switch (notice.kind) {
    case 'started':
      return [notice.resident ? 'info' : 'debug', 'worker started', { pid: process.pid }]
    case 'stopped':
      return [notice.resident ? 'info' : 'debug', 'worker stopped', { pid: process.pid }]
    case 'lease lost':
      return ['warn', 'worker lost its lease and goes on anew', { nextWorkerId: notice.nextId }]
    case 'claim lost': {
      const { workflow, execution } = notice.claimed
      const { id: executionId, attempt } = execution
      const step = execution.nodeName ?? execution.node
      const ids = { workflowId: workflow.id, workflow: workflow.type, executionId, step, attempt }
      return ['warn', 'claim lost: what the step came to was not recorded', ids]
    }
    case 'unserved': {
      const { queue, handler } = notice
      return ['warn', 'work is due that no live worker has code for', { queue, handler }]
    }
  }
}

/** Events of the application are not ours to log. */
function lineOf({ event }: CommittedEvent): readonly [Level, string] | null {
  switch (event.type) {
    case 'workflow.started':
    case 'workflow.finished':
    case 'workflow.canceled':
    case 'workflow.aborted':
    case 'workflow.resumed':
    case 'workflow.rolling_back':
    case 'step.started':
    case 'step.completed':
    case 'step.skipped':
    case 'step.canceled':
    case 'step.suspended':
    case 'letter.requeued':
    case 'letter.resolved':
    case 'letter.discarded':
      return ['debug', wordsOf(event.type)]
    case 'step.failed':
      return event.outcome === 'recovered'
        ? ['warn', 'step taken over: its worker was lost, or shut down in mid-call']
        : ['debug', 'step failed']
    case 'workflow.paused':
      return ['info', wordsOf(event.type)]
    case 'workflow.healed':
      return removedIn(event.payload).length === 0
        ? ['info', wordsOf(event.type)]
        : ['warn', 'workflow healed: its code has lost nodes']
    case 'workflow.failed':
      return ['warn', wordsOf(event.type)]
    case 'workflow.dlq':
      return ['warn', 'workflow stands still until its dead letter is handled']
    case 'letter.opened':
      return ['error', 'dead letter: a step was given up']
    default:
      return null
  }
}

function wordsOf(type: string): string {
  return type.replace('.', ' ').replaceAll('_', ' ')
}

function eventFacts({ event, workflowType }: CommittedEvent): object {
  const { workflowId, executionId, node, nodeName, attempt, outcome, reason, by } = event
  const removed = event.type === 'workflow.healed' ? listed(removedIn(event.payload)) : null
  const step = nodeName ?? node
  const all = { workflowId, workflow: workflowType, executionId, step, attempt, outcome, reason, by, removed }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== undefined))
}

function listed(names: readonly string[]): readonly string[] | null {
  return names.length === 0 ? null : names
}
