/**
 * One sentence about a workflow: what it waits for, until when, and who can do something about it. It puts into words what
 * readiness has found, and finds nothing itself.
 */
import { describeSpan } from '../primitives/describe-span.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { toDate } from '../primitives/to-date.ts'
import type { WorkflowStanding } from '../store/readiness-facts.ts'
import type { LetterReason } from '../store/records.ts'
import { isEnd } from './end-watch.ts'
import { deadlineSlot } from './plan.ts'
import type { NodeReadiness } from './readiness.ts'
import type { WaitReason } from './wait-reason.ts'

export function waitingSentence(standing: WorkflowStanding, nodes: readonly NodeReadiness[], now: number): string {
  const clauses = [...clausesFor(standing, nodes, toDate(now)), ...deadlineClauses(standing, now)]
  const text = clauses.join('; ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[?!…]$/.test(text) ? '' : '.'}`
}

function clausesFor(standing: WorkflowStanding, nodes: readonly NodeReadiness[], now: Date): string[] {
  const { workflow, change } = standing
  if (isEnd(workflow.state)) return [endClause(standing), ...undoneClauses(standing)]
  const steps = findings(nodes, now)
  const asked = askedBy(change?.by ?? null, change?.reason ?? null)
  if (workflow.state === 'rolling_back') {
    const what = workflow.rollback?.kind === 'failure' ? 'it is being rolled back' : 'it is being canceled'
    return [`${what}${asked}`, ...stopClauses(steps, nodes), ...undoneClauses(standing)]
  }
  if (workflow.finishing)
    return ['it is finishing, and what still runs is waited for', ...steps.slice(0, 1).map(textOf)]
  if (workflow.state === 'dlq') return letterClauses(standing, steps)
  if (workflow.state === 'paused') return pauseClauses(standing, steps)
  if (steps.length === 0) return ['nothing is scheduled; a worker that has its code brings it in line']
  return [mainClause(steps), ...steps.slice(1).filter(isAlarming).slice(0, 1).map(textOf)]
}

/** Only where it may soon be what ends the wait. */
const nearUs = 24 * 3_600_000_000

function deadlineClauses({ workflow, active }: WorkflowStanding, now: number): string[] {
  const { deadlineAt, state } = workflow
  const timer = active.find(row => row.slot === deadlineSlot)
  if (deadlineAt === null || timer === undefined || isEnd(state) || deadlineAt - now > nearUs) return []
  const at = describeTime(toDate(deadlineAt))
  if (deadlineAt > now) return [`its deadline is at ${at}, in ${spanText(toDate(now), toDate(deadlineAt))}`]
  return [`its deadline, ${at}, has passed, which counts when it goes on`]
}

function endClause({ workflow, change }: WorkflowStanding): string {
  const at = workflow.endedAt === null ? '' : ` at ${describeTime(toDate(workflow.endedAt))}`
  const asked = askedBy(change?.by ?? null, change?.reason ?? null)
  const next = workflow.continuedAs === null ? '' : `, and goes on as workflow ${workflow.continuedAs}`
  if (workflow.state === 'finished') return `it finished${at}${next}`
  return `it ${workflow.state === 'failed' ? '' : 'was '}${workflow.state}${at}${asked}`
}

function askedBy(by: string | null, reason: string | null): string {
  return `${by === null ? '' : ` by ${by}`}${reason === null ? '' : `: ${trimmed(reason)}`}`
}

function stopClauses(steps: readonly Finding[], nodes: readonly NodeReadiness[]): string[] {
  const [stopping] = nodes.flatMap(node => node.reasons).filter(reason => reason.kind === 'stopping')
  const until = stopping?.kind === 'stopping' ? stopping.until : null
  const grace = until === null ? [] : [`it is given until ${describeTime(until)} to stop`]
  return [...steps.slice(0, 1).map(textOf), ...grace]
}

function pauseClauses({ workflow, change }: WorkflowStanding, steps: readonly Finding[]): string[] {
  const { by = null, reason = null } = change ?? {}
  const at = workflow.pausedAt === null ? '' : ` at ${describeTime(toDate(workflow.pausedAt))}`
  const running = steps.filter(step => step.kind === 'claimed').slice(0, 1)
  const failure = steps
    .filter(({ kind }) => kind === 'lost' || kind === 'failed')
    .slice(0, 1)
    .map(textOf)
  switch (workflow.pauseCause) {
    case 'exception':
      return [`it was paused${at}, because ${failure[0] ?? reason ?? 'a step has failed'}`, ...running.map(textOf)]
    case 'flow_control':
      return [`it was paused${at} by a step of its own${askedBy(null, reason)}`, ...running.map(textOf)]
    default: {
      const meanwhile = workflow.pauseCause === 'finishing' ? ', and finishes when it is resumed' : ''
      return [`it was paused${at}${askedBy(by ?? 'somebody', reason)}${meanwhile}`, ...running.map(textOf), ...failure]
    }
  }
}

const letterReasons: Readonly<Record<LetterReason, string>> = {
  retries_exhausted: 'its retries are used up',
  policy: 'its policy says so',
  crash_limit: 'it has lost its worker too often',
  compensation_exhausted: 'its retries are used up',
  unknown_outcome: 'it was cut off, and nobody knows what it has done',
}

function letterClauses({ letters, change }: WorkflowStanding, steps: readonly Finding[]): string[] {
  const at = change === null ? '' : ` since ${describeTime(toDate(change.at))}`
  const running = steps.filter(step => step.kind === 'claimed').slice(0, 1)
  const [letter] = letters
  if (letter === undefined) return [`it is in the dead letter queue${at}`, ...running.map(textOf)]
  return [
    `it is in the dead letter queue${at}: step ${letter.nodeName ?? letter.node} ${givenUpText(letters)}`,
    ...running.map(textOf),
    `requeue or discard letter ${letter.id}, or skip or resolve the step`,
  ]
}

/** What could not be undone waits for a person, also when the workflow is over. */
function undoneClauses({ letters }: WorkflowStanding): string[] {
  const open = letters.filter(({ kind }) => kind === 'compensate')
  const [letter] = open
  if (letter === undefined) return []
  return [
    `what undoes step ${letter.nodeName ?? letter.node} ${givenUpText(open)}`,
    `requeue or discard letter ${letter.id}`,
  ]
}

function givenUpText([letter, ...more]: WorkflowStanding['letters']): string {
  if (letter === undefined) return ''
  const { attempt, reason, error } = letter
  const others = more.length === 0 ? '' : `, and ${more.length} more like it`
  return `was given up at attempt ${attempt}, because ${letterReasons[reason]}${errorText(error)}${others}`
}

interface Finding {
  readonly kind: WaitReason['kind'] | 'ready'
  readonly text: string
  readonly until: number
}

/** What counts for the workflow as a whole comes first; among equals, what comes soonest. */
const precedence: readonly Finding['kind'][] = [
  'claimed',
  'ready',
  'no_worker',
  'lost',
  'queue_paused',
  'limit',
  'backoff',
  'time',
  'child',
  'items',
  'people',
  'signal',
  'outside',
  'failed',
]

function findings(nodes: readonly NodeReadiness[], now: Date): Finding[] {
  return nodes
    .map(node => findingOf(node, now))
    .filter(({ kind }) => precedence.includes(kind))
    .toSorted((a, b) => precedence.indexOf(a.kind) - precedence.indexOf(b.kind) || a.until - b.until)
}

function findingOf(node: NodeReadiness, now: Date): Finding {
  if (node.ready) return { kind: 'ready', text: `${subjectOf(node)} is due, and a worker will take it`, until: 0 }
  // Whatever keeps the workflow as a whole is said already.
  const own = node.reasons.filter(({ kind }) => kind !== 'paused' && kind !== 'stopping')
  const reason = own.find(({ kind }) => precedence.includes(kind)) ?? own[0] ?? node.reasons[0]
  if (reason === undefined) return { kind: 'done', text: '', until: 0 }
  const until = 'until' in reason && reason.until !== null ? reason.until.getTime() : 0
  return { kind: reason.kind, text: clauseOf(node, reason, now), until }
}

function subjectOf({ name, undoing }: NodeReadiness): string {
  return undoing ? `what undoes step ${name}` : `step ${name}`
}

function clauseOf(node: NodeReadiness, reason: WaitReason, now: Date): string {
  const step = subjectOf(node)
  switch (reason.kind) {
    case 'claimed':
      return runningClause(step, node.attempt, reason)
    case 'no_worker':
      return `${step} has been due for ${spanText(reason.since, now)}, and no live worker has its code (${reason.handler}, generation ${reason.generation}, queue ${reason.queue})`
    case 'lost':
      return `${step} is not in the code any more: bring it back, name it in \`renamed\`, or skip it`
    case 'backoff':
      return `${step} is tried again at ${describeTime(reason.until)}, in ${spanText(now, reason.until)}, ${whyAgain(reason)}${errorText(reason.error)}`
    case 'time':
      return `${step} waits until ${describeTime(reason.until)}, for ${spanText(now, reason.until)} more`
    case 'child':
      return `${step} waits for workflow ${reason.workflowId}${childText(reason)}`
    case 'items':
      return `${step} waits for ${reason.open} of its items`
    case 'people':
      return peopleClause(step, reason)
    case 'signal':
      return `${step} waits for the signal ${reason.name}`
    case 'queue_paused':
      return `${step} is due, but queue ${reason.queue} was paused at ${describeTime(reason.since)}${askedBy(reason.by ?? 'somebody', reason.reason)}`
    case 'limit':
      return limitClause(step, reason)
    case 'failed':
      return failureClause(step, reason)
    case 'dependencies':
      return `${step} waits for ${reason.open.join(', ')}`
    default:
      return `${step} waits for something outside`
  }
}

/** Its retries are over, used up or not worth it, where only a policy can have said so. */
function whyAgain({ failures, attempts }: Extract<WaitReason, { kind: 'backoff' }>): string {
  if (attempts === null) return `after failure ${failures}`
  return failures < attempts ? `after failure ${failures} of ${attempts}` : 'because its policy says so'
}

function runningClause(step: string, attempt: number, reason: Extract<WaitReason, { kind: 'claimed' }>): string {
  const where = `worker ${reason.worker}${reason.host === null ? '' : ` on ${reason.host}`}`
  const since = reason.since === null ? '' : ` since ${describeTime(reason.since)}`
  if (!reason.alive) return `${step} was run by ${where}, which has fallen silent; another worker takes it over`
  return `${step} is run by ${where}${since}${attempt > 1 ? `, attempt ${attempt}` : ''}`
}

function peopleClause(step: string, reason: Extract<WaitReason, { kind: 'people' }>): string {
  const { prompt, assignTo, quorum, confirmedBy, until } = reason
  const whom = assignTo.length > 0 ? assignTo.join(', ') : quorum > 1 ? `${quorum} people` : 'a person'
  const needed = assignTo.length > 0 && quorum > 1 ? `, ${quorum} of whom must agree` : ''
  const made = confirmedBy.length === 0 ? '' : ` (${confirmationsIn(reason)})`
  const latest = until === null ? '' : ` until ${describeTime(until)}`
  return `${step} waits for ${whom} to decide${needed}${made}${latest}${prompt === null ? '' : `: ${trimmed(prompt)}`}`
}

/** Like `1 of 2 have confirmed: ann`. */
export function confirmationsIn({ quorum, confirmedBy }: Extract<WaitReason, { kind: 'people' }>): string {
  const have = confirmedBy.length === 1 ? 'has' : 'have'
  const who = confirmedBy.length === 0 ? '' : `: ${confirmedBy.join(', ')}`
  return `${confirmedBy.length} of ${quorum} ${have} confirmed${who}`
}

function limitClause(step: string, reason: Extract<WaitReason, { kind: 'limit' }>): string {
  const { of, name, key, most, perMs, running, holders, until } = reason
  const where = of === 'queue' ? `queue ${name}` : key === null ? `class ${name}` : `class ${name}, for key ${key},`
  if (perMs !== null) {
    const next = until === null ? '' : `, and the next may at ${describeTime(until)}`
    return `${step} is due, but ${where} lets only ${most} begin in ${describeSpan(perMs)}${next}`
  }
  const named = holders.slice(0, 3).map(({ workflowId, node }) => `workflow ${workflowId} (${node})`)
  const more = running > named.length ? [`${running - named.length} more`] : []
  return `${step} is due, but ${where} lets only ${most} run at once: ${[...named, ...more].join(', ')}`
}

function failureClause(step: string, reason: Extract<WaitReason, { kind: 'failed' }>): string {
  const { why, attempt, error } = reason
  if (why === 'paused_itself') return `${step} has paused the workflow itself`
  if (why === 'crash_limit') return `${step} has lost its worker too often${errorText(error)}`
  if (why === 'unknown_outcome')
    return `${step} must not be called twice, and was cut off in its call: find out what it has done, then resolve or reattempt it`
  const how = {
    attempts_exhausted: `at its last attempt, number ${attempt}`,
    not_retryable: `at attempt ${attempt} with an error that is not retried`,
    not_retried: `at attempt ${attempt}`,
  }[why]
  return `${step} has failed ${how}${errorText(error)}`
}

function childText({ type, state }: Extract<WaitReason, { kind: 'child' }>): string {
  const known = [type ?? [], state ?? []].flat().filter(part => part !== '')
  return known.length === 0 ? '' : ` (${known.join(', ')})`
}

function mainClause(steps: readonly Finding[]): string {
  const [first] = steps
  const alike = steps.filter(step => step.kind === first?.kind).length - 1
  return `${first?.text ?? ''}${alike > 0 ? `, and ${alike} more like it` : ''}`
}

/** Worth saying even where something else goes on. */
function isAlarming({ kind }: Finding): boolean {
  return kind === 'failed' || kind === 'no_worker' || kind === 'lost' || kind === 'queue_paused'
}

function textOf({ text }: Finding): string {
  return text
}

function errorText(error: { readonly className: string; readonly message: string } | null): string {
  return error === null ? '' : `: ${error.className}: ${trimmed(error.message)}`
}

/** The first line, cut to a length that leaves one sentence one sentence, without the stop that follows anyway. */
function trimmed(text: string): string {
  const line = (text.split('\n')[0] ?? '').trim().replace(/\.$/, '')
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}

function spanText(from: Date, to: Date): string {
  return describeSpan(Math.max(0, to.getTime() - from.getTime()))
}
