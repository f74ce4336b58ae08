/** `geneva stuck`, `geneva stats` and `geneva health`: what operators ask. None of them changes a workflow. */
import type { Health, NodeStats, Stats, StuckWork } from '../index.ts'
import { describeSpan } from '../primitives/describe-span.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { AppCommand, type Shared, whileLooking } from './app-command.ts'
import { answerIsNo } from './exit-codes.ts'
import { spanOf } from './filter-options.ts'
import { harmless, printJson, say } from './terminal.ts'

const longestList = 10
const stuckAfter = '10 min'

interface Flags extends Shared {
  readonly for?: string
  readonly since?: string
}

export function stuckCommand(): AppCommand {
  return new AppCommand('stuck', {
    description: 'tell what has not moved for a while, and why',
    examples: [["stuck --for '1 hour'", 'what has not moved for an hour']],
    more: 'Exit code 3: something is stuck.',
  })
    .option('--for <duration>', `only what has not moved for so long (default: '${stuckAfter}')`)
    .locating()
    .action((flags: Flags) =>
      whileLooking(flags, async geneva => {
        const forMs = spanOf(flags.for ?? stuckAfter, '--for')
        const found = await geneva.stuck({ for: forMs })
        const none = `Nothing is stuck for ${describeSpan(forMs)} or longer.`
        tell(flags, { items: found }, found.map(stuckLine).join('\n') || none)
        if (found.length > 0) process.exitCode = answerIsNo
      }),
    )
}

export function statsCommand(): AppCommand {
  return new AppCommand('stats', {
    description: 'tell the slowest steps, the longest waits, the failures and the queues',
    examples: [["stats --since '1 day'", 'over the last day']],
  })
    .option('--since <duration>', "how far back to look (default: '1 hour')")
    .locating()
    .action((flags: Flags) =>
      whileLooking(flags, async geneva => {
        const stats = await geneva.stats(flags.since === undefined ? {} : { since: spanOf(flags.since, '--since') })
        tell(flags, stats, statsText(stats))
      }),
    )
}

export function healthCommand(): AppCommand {
  return new AppCommand('health', {
    description: 'tell whether the database, its tables and the workers are well',
    examples: [['health --json', 'for a probe']],
    more: 'Exit code 3: the database cannot be worked with.',
  })
    .locating()
    .action((flags: Flags) =>
      whileLooking(flags, async geneva => {
        const health = await geneva.health()
        tell(flags, health, healthText(health))
        if (!health.ready) process.exitCode = answerIsNo
      }),
    )
}

function tell(flags: Shared, value: unknown, text: string): void {
  if (flags.json) printJson(value)
  else say(harmless(text))
}

function stuckLine({ kind, name, workflowId, why }: StuckWork): string {
  return `${kind.padEnd(13)} ${name}${workflowId === null ? '' : ` ${workflowId}`}\n  ${why}`
}

function statsText({ since, until, executions, sampled, slowest, bottlenecks, failures, queues }: Stats): string {
  const span = `${describeTime(since)} to ${describeTime(until)}`
  const parts = [`${executions} executions${sampled ? ' (the newest only)' : ''}, ${span}`]
  const add = (heading: string, lines: readonly string[]) => {
    if (lines.length > 0) parts.push([heading, ...lines.slice(0, longestList).map(line => `  ${line}`)].join('\n'))
  }
  add(
    'Slowest',
    slowest.map(node => nodeLine(node, 'took')),
  )
  add(
    'Longest waits',
    bottlenecks.map(node => nodeLine(node, 'waited')),
  )
  add(
    'Failures',
    failures.map(each => `${each.count} x ${each.workflow}.${each.step} ${each.errorClass ?? ''} (${each.outcome})`),
  )
  add(
    'Due and not claimed',
    queues.map(({ queue, handler, due, oldestMs }) => `${due} of ${handler} in ${queue}, oldest ${oldestMs} ms`),
  )
  return parts.join('\n\n')
}

function nodeLine(node: NodeStats, what: 'took' | 'waited'): string {
  const { p50, p95, p99, max } = node[what]
  const ms = [p50, p95, p99, max].map(value => Math.round(value))
  return `${node.workflow}.${node.step}: ${node.executions} ${node.executions === 1 ? 'time' : 'times'}, median ${ms[0]} ms, 95 % ${ms[1]} ms, 99 % ${ms[2]} ms, longest ${ms[3]} ms`
}

function healthText({ status, problems, database, workers, queues }: Health): string {
  const answered = database.latencyMs === null ? 'no answer' : `answered in ${database.latencyMs} ms`
  const waiting = `${queues.due} ${queues.due === 1 ? 'execution is' : 'executions are'} due${queues.oldestMs === null ? '' : `, the oldest for ${queues.oldestMs} ms`}`
  const facts = `${status}: database ${answered}; ${workers.alive} ${workers.alive === 1 ? 'worker' : 'workers'} alive; ${waiting}`
  return [facts, ...problems.map(problem => `  ${problem}`)].join('\n')
}
