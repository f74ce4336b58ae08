/** `geneva stuck`, `geneva stats` and `geneva health`: what operators ask. None of them changes a workflow. */
import { Command } from 'commander'
import type { Duration, Geneva, Health, NodeStats, Stats, StuckWork } from '../index.ts'
import { loadGeneva } from './load-geneva.ts'

/** The exit code when something is stuck, or when this code could not do its work. */
const answerIsNo = 3
const longestList = 10

interface Flags {
  readonly for?: string
  readonly since?: string
  readonly json?: boolean
}

function command(name: string, description: string, run: (geneva: Geneva, flags: Flags) => Promise<void>): Command {
  return new Command(name)
    .exitOverride()
    .description(description)
    .argument('<module>', 'the module that exports your Geneva, as `geneva` or as its default')
    .option('--json', 'print one JSON document')
    .action(async (module: string, flags: Flags) => {
      const geneva = await loadGeneva(module)
      await run(geneva, flags).finally(() => geneva.close())
    })
}

export function stuckCommand(): Command {
  return command('stuck', 'tell what has not moved for a while, and why', async (geneva, flags) => {
    const found = await geneva.stuck(flags.for === undefined ? {} : { for: flags.for as Duration })
    console.log(flags.json ? JSON.stringify(found) : found.map(stuckLine).join('\n') || 'Nothing is stuck.')
    if (found.length > 0) process.exitCode = answerIsNo
  })
    .option('--for <duration>', "only what has not moved for so long (default: '10 min')")
    .addHelpText('after', '\nExit code 3: something is stuck.')
}

export function statsCommand(): Command {
  return command(
    'stats',
    'tell the slowest steps, the longest waits, the failures and the queues',
    async (geneva, flags) => {
      const stats = await geneva.stats(flags.since === undefined ? {} : { since: flags.since as Duration })
      console.log(flags.json ? JSON.stringify(stats) : statsText(stats))
    },
  ).option('--since <duration>', "how far back to look (default: '1 hour')")
}

export function healthCommand(): Command {
  return command('health', 'tell whether the database, its tables and the workers are well', async (geneva, flags) => {
    const health = await geneva.health()
    console.log(flags.json ? JSON.stringify(health) : healthText(health))
    if (!health.ready) process.exitCode = answerIsNo
  }).addHelpText('after', '\nExit code 3: the database cannot be worked with.')
}

function stuckLine({ kind, name, workflowId, why }: StuckWork): string {
  return `${kind.padEnd(13)} ${name}${workflowId === null ? '' : ` ${workflowId}`}\n  ${why}`
}

function statsText({ since, until, executions, sampled, slowest, bottlenecks, failures, queues }: Stats): string {
  const span = `${since.toISOString()} to ${until.toISOString()}`
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
  return `${node.workflow}.${node.step}: ${node.executions} times, median ${ms[0]} ms, 95 % ${ms[1]} ms, 99 % ${ms[2]} ms, longest ${ms[3]} ms`
}

function healthText({ status, problems, database, workers, queues }: Health): string {
  const answered = database.latencyMs === null ? 'no answer' : `answered in ${database.latencyMs} ms`
  const waiting = `${queues.due} executions are due${queues.oldestMs === null ? '' : `, the oldest for ${queues.oldestMs} ms`}`
  const facts = `${status}: database ${answered}; ${workers.alive} workers alive; ${waiting}`
  return [facts, ...problems.map(problem => `  ${problem}`)].join('\n')
}
