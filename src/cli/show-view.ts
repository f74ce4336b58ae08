/**
 * One workflow on a screen: its graph with states, what it waits for, how far its resumable steps have come, and when each
 * attempt ran. Pure: it is given all that it shows, and cuts every line to the width.
 */

import type { RecordedDecision } from '../client/tell-workflow.ts'
import { grouped } from '../drawing/box-label.ts'
import { cutTo, padTo, printable, widthOf, wrapped } from '../drawing/printable-text.ts'
import { lookOf } from '../drawing/state-look.ts'
import type { Execution, Explanation, HeroReference, StepProgress } from '../index.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { shortSpan } from './span-text.ts'

export interface ShownWorkflow {
  /** The graph with its title, drawn for this width. */
  readonly drawing: string
  readonly explanation: Explanation
  readonly hero: HeroReference | null
  readonly createdAt: Date
  readonly endedAt: Date | null
  readonly history: readonly Execution[]
  readonly compensations: readonly Execution[]
  readonly decisions: readonly RecordedDecision[]
}

export interface ViewOptions {
  readonly width: number
  readonly now: Date
  paint(text: string, state: string): string
  faint(text: string): string
}

const barWidth = 24
const mostAttempts = 20
const mostDecisions = 20
/** A shorter wait is no news. */
const worthTellingMs = 1000
const widestName = 28

export function showView(shown: ShownWorkflow, options: ViewOptions): string[] {
  const parts = [
    shown.drawing.split('\n'),
    [...factLines(shown, options), ...sentenceLines(shown, options)],
    progressLines(shown, options),
    decisionLines(shown, options),
    timelineLines(shown, options),
  ]
  return parts.filter(lines => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
}

function factLines({ hero, createdAt, endedAt }: ShownWorkflow, { width, now, faint }: ViewOptions): string[] {
  const about = hero === null ? [] : [`about ${printable(`${hero.type} ${String(hero.id)}`)}`]
  const ended =
    endedAt === null
      ? `${shortSpan(now.getTime() - createdAt.getTime())} ago`
      : `ended after ${shortSpan(endedAt.getTime() - createdAt.getTime())}`
  return [faint(cutTo([...about, `started ${describeTime(createdAt)}`, ended].join(' · '), width, '…'))]
}

/** Of one that has finished all is said. Any other end has its reason, and may have left something to do. */
function sentenceLines({ explanation }: ShownWorkflow, { width }: ViewOptions): string[] {
  return explanation.state === 'finished' ? [] : wrapped(printable(explanation.sentence).split(' '), width)
}

/** What people have said, oldest first. */
function decisionLines({ decisions }: ShownWorkflow, { width, faint }: ViewOptions): string[] {
  if (decisions.length === 0) return []
  const visible = decisions.slice(-mostDecisions)
  const left = decisions.length - visible.length
  const names = columnOf(visible.map(({ step }) => step))
  return [
    faint(`Decisions${left > 0 ? `, without ${left} earlier ones` : ''}`),
    ...visible.map(({ step, decision, by, comment, at }) => {
      const name = padTo(cutTo(printable(step), names, '…'), names)
      const why = comment === null ? '' : `: ${comment}`
      return cutTo(`  ${name}  ${printable(`${decision} by ${by}, ${describeTime(at)}${why}`)}`, width, '…')
    }),
  ]
}

function progressLines({ history }: ShownWorkflow, options: ViewOptions): string[] {
  const latest = new Map<string, Execution>()
  for (const execution of history) if (execution.progress !== null) latest.set(execution.step, execution)
  const rows = [...latest.values()]
  if (rows.length === 0) return []
  const names = columnOf(rows.map(({ step }) => step))
  return [
    options.faint('Progress'),
    ...rows.map(({ step, state, progress }) => {
      const { bar, words } = progressText(progress)
      const name = padTo(cutTo(printable(step), names, '…'), names)
      const rest = cutTo(words, Math.max(8, options.width - names - barWidth - 6), '…')
      return `  ${name}  ${options.paint(bar, state)}  ${rest}`
    }),
  ]
}

/** `████████░░░░` and `62 % · 6,200 of 10,000 · 130 a second · 30 s left`. */
function progressText(progress: StepProgress | null): { bar: string; words: string } {
  const { completed = 0, total = null, perSecond = null, remainingMs = null } = progress ?? {}
  const share = total === null || total === 0 ? null : Math.min(1, completed / total)
  const full = Math.round((share ?? 0) * barWidth)
  const words = [
    ...(share === null ? [] : [`${Math.floor(share * 100)} %`]),
    total === null ? `${grouped(completed)} done` : `${grouped(completed)} of ${grouped(total)}`,
    ...(perSecond === null
      ? []
      : [`${perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond))} a second`]),
    ...(remainingMs === null || remainingMs === 0 ? [] : [`${shortSpan(remainingMs)} left`]),
  ]
  return {
    bar: share === null ? '·'.repeat(barWidth) : '█'.repeat(full) + '░'.repeat(barWidth - full),
    words: words.join(' · '),
  }
}

interface TimelineRow {
  readonly name: string
  readonly state: string
  readonly from: number
  /** Until then it has waited. */
  readonly began: number
  readonly until: number
  readonly words: string
}

function timelineLines(shown: ShownWorkflow, options: ViewOptions): string[] {
  const all = [
    ...shown.history.map(row => timelineRow(row, options.now)),
    ...shown.compensations.map(row => undoRow(row, options.now)),
  ]
  const rows = all.flatMap(row => row ?? []).toSorted((a, b) => a.from - b.from)
  if (rows.length === 0) return []
  const visible = rows.slice(-mostAttempts)
  const first = Math.min(...visible.map(({ from }) => from))
  const last = Math.max(...visible.map(({ until }) => until), first + 1)
  const names = columnOf(visible.map(({ name }) => name))
  const room = Math.max(10, Math.min(40, options.width - names - 44))
  const scale = (time: number) => Math.round(((time - first) / (last - first)) * (room - 1))
  const left = rows.length - visible.length
  const heading = `Timeline: ${shortSpan(last - first)} from ${describeTime(new Date(first))}${left > 0 ? `, without ${left} earlier attempts` : ''}`
  return [
    options.faint(cutTo(heading, options.width, '…')),
    ...visible.map(({ name, state, from, began, until, words }) => {
      const start = scale(began)
      const wait = Math.min(start, scale(from))
      const run = began === until && state === 'waiting' ? '░' : '█'.repeat(Math.max(1, scale(until) - start))
      const bar = ' '.repeat(wait) + '░'.repeat(start - wait) + run
      const head = `  ${padTo(cutTo(printable(name), names, '…'), names)}  `
      const rest = cutTo(printable(words), Math.max(8, options.width - widthOf(head) - room - 4), '…')
      return `${head}${options.paint(padTo(bar, room), state)}  ${options.paint(lookOf(state).mark, state)} ${rest}`
    }),
  ]
}

function timelineRow(execution: Execution, now: Date): TimelineRow | null {
  const { step, attempt, state, createdAt, startedAt, endedAt, error, outcome } = execution
  if (startedAt === null) return null
  const until = (endedAt ?? now).getTime()
  // What waits for people, a message or another workflow has been begun once, and does nothing.
  const began = state === 'waiting' ? until : Math.min(startedAt.getTime(), until)
  const from = Math.min(createdAt.getTime(), began)
  const said = outcome === null || outcome === 'success' ? state : outcome
  const why = error === null ? said : `${error.className}: ${error.message}`
  const waited = state !== 'waiting' && began - from >= worthTellingMs ? `waited ${shortSpan(began - from)}, ` : ''
  const took = shortSpan(state === 'waiting' ? began - from : until - began)
  return {
    name: attempt > 1 ? `${step} (${attempt})` : step,
    state,
    from,
    began,
    until,
    words: `${waited}${took} ${why}`,
  }
}

function undoRow(execution: Execution, now: Date): TimelineRow | null {
  const row = timelineRow(execution, now)
  return row && { ...row, name: `undo ${row.name}`, state: row.state === 'completed' ? 'rolled_back' : row.state }
}

function columnOf(names: readonly string[]): number {
  return Math.min(widestName, Math.max(...names.map(name => widthOf(printable(name)))))
}
