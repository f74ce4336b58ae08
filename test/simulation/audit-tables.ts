/**
 * What must always be true of the rows of a workflow, whatever has happened to it: found out from the tables and the graph
 * alone, without the model. What is wrong is said in sentences.
 */
import { groupBy } from '../programs/harness/group-by.ts'
import type { SimulatedGraph } from './random-graph.ts'
import type { ActiveRow, EventRow, HistoryRow, WorkflowTables } from './workflow-tables.ts'

const overStates = ['finished', 'canceled']

/** The graph as far as an auditor needs it. */
export class AuditedGraph {
  readonly parents: ReadonlyMap<string, readonly string[]>
  readonly leaves: readonly string[]
  readonly isChain: boolean

  constructor({ nodes }: SimulatedGraph) {
    this.parents = new Map(nodes.map(node => [node.name, node.parents]))
    const named = new Set(nodes.flatMap(node => node.parents))
    this.leaves = nodes.map(node => node.name).filter(name => !named.has(name))
    const entries = nodes.filter(node => node.parents.length === 0)
    this.isChain =
      entries.length <= 1 &&
      this.leaves.length <= 1 &&
      nodes.every(node => node.parents.length <= 1 && node.kind !== 'each')
  }
}

/** `declared`: a step has called `this.finish()`, so that nodes may be left out. */
export function auditTables(graph: AuditedGraph, tables: WorkflowTables, declared: boolean): string[] {
  const isOver = overStates.includes(tables.state)
  const rows = [...tables.history, ...tables.active]
  return [
    ...(isOver && tables.active.length > 0 ? [`It is ${tables.state} and has active rows.`] : []),
    ...(isOver && tables.timers.length > 0
      ? [`It is ${tables.state} and has the timers ${tables.timers.join()}.`]
      : []),
    ...(!isOver && !goesOn(tables) ? [`It is ${tables.state}, but nothing in it can go on.`] : []),
    ...[...groupBy(rows, row => row.node)].flatMap(([node, all]) => auditAttempts(node, all)),
    ...(tables.state === 'finished' && !declared ? auditFinished(graph, tables) : []),
    ...auditCounters(graph, tables),
    ...auditLetters(tables),
  ]
}

/** Every active workflow has a row that runs or may be claimed, one that waits, or is paused or in the DLQ. */
function goesOn({ state, active }: WorkflowTables): boolean {
  if (state === 'paused' || state === 'dlq') return true
  if (state === 'rolling_back') return active.some(row => row.state === 'in_progress')
  return active.some(row => row.state === 'in_progress' || row.state === 'waiting' || row.claimable)
}

/** Numbered without a gap, one at a time, and only the last one may satisfy anything. */
function auditAttempts(node: string, rows: readonly (HistoryRow | ActiveRow)[]): string[] {
  const sorted = rows.toSorted((a, b) => a.attempt - b.attempt)
  const findings: string[] = []
  const numbers = sorted.map(row => row.attempt)
  if (numbers.some((number, index) => number !== index + 1))
    findings.push(`${node} has the attempts ${numbers.join()}.`)
  const active = sorted.filter(row => !('outcome' in row))
  if (active.length > 1) findings.push(`${node} has ${active.length} active rows.`)
  for (const row of sorted.slice(0, -1)) {
    if (!('outcome' in row)) findings.push(`${node} has an attempt after ${row.attempt}, which has not ended.`)
    else if (isSatisfying(row)) findings.push(`${node} went on after attempt ${row.attempt}, which was ${row.outcome}.`)
  }
  return findings
}

function isSatisfying({ state, outcome }: HistoryRow): boolean {
  if (state === 'completed') return outcome !== 'reattempted'
  return state === 'skipped' && outcome !== 'stopped'
}

function auditFinished(graph: AuditedGraph, { history }: WorkflowTables): string[] {
  const latest = latestOf(history)
  const open = [...graph.parents.keys(), ...latest.keys()].filter(node => {
    const row = latest.get(node)
    return row === undefined || !isSatisfying(row)
  })
  return open.length === 0 ? [] : [`It is finished, but ${open.join()} did not end well.`]
}

/** Whoever looks for work that was given up finds all of it, and nothing that cannot be handled. */
function auditLetters({ state, active, letters, openLetters }: WorkflowTables): string[] {
  const open = letters.filter(letter => letter.state === 'open')
  const held = (node: string) => active.some(row => row.node === node && row.state === 'paused')
  return [
    ...(open.length === openLetters
      ? []
      : [`${open.length} letters are open, but the workflow counts ${openLetters}.`]),
    ...(state === 'dlq' && open.length === 0 ? ['It is in the DLQ without an open letter.'] : []),
    ...open.filter(({ node }) => !held(node)).map(({ node }) => `${node} has an open letter, but is not held.`),
  ]
}

/** What the counters must be, counted anew from the rows. */
function auditCounters(graph: AuditedGraph, tables: WorkflowTables): string[] {
  const { state, active, history, counters } = tables
  // Nothing starts any more, so nobody counts.
  if (state === 'rolling_back' || tables.finishing || tables.pauseCause === 'finishing') return []
  const none = overStates.includes(state) || graph.isChain
  const expected = none ? new Map<string, number>() : recount(graph, active, history)
  const names = new Set([...expected.keys(), ...counters.keys()])
  return [...names].flatMap(name => {
    const [wanted, found] = [expected.get(name), counters.get(name)]
    const what = name === '' ? 'the end' : name
    return wanted === found
      ? []
      : [`The counter of ${what} is ${found ?? 'missing'}, but ${wanted ?? 'none'} is right.`]
  })
}

function recount(
  graph: AuditedGraph,
  active: readonly ActiveRow[],
  history: readonly HistoryRow[],
): Map<string, number> {
  const latest = latestOf(history)
  const under = new Map(active.map(row => [row.node, row]))
  const done = (node: string) => {
    const row = latest.get(node)
    return !under.has(node) && row !== undefined && isSatisfying(row)
  }
  const counts = new Map<string, number>()
  const count = (name: string, parents: readonly string[]) => {
    const open = parents.filter(parent => !done(parent)).length
    if (parents.length > 1 && open > 0 && open < parents.length) counts.set(name, open)
  }
  for (const [node, parents] of graph.parents) if (!under.has(node) && !latest.has(node)) count(node, parents)
  count('', graph.leaves)
  for (const row of active) {
    if (row.state !== 'waiting' || row.node.includes('/')) continue
    const items = new Set([...under.keys(), ...latest.keys()].filter(name => name.startsWith(`${row.node}/`)))
    counts.set(row.node, [...items].filter(item => !done(item)).length)
  }
  return counts
}

function latestOf(history: readonly HistoryRow[]): Map<string, HistoryRow> {
  return new Map(history.toSorted((a, b) => a.attempt - b.attempt).map(row => [row.node, row]))
}

/** The record of events: nothing starts twice, nothing starts before what it depends on, nothing happens after an end. */
export function auditEvents(graph: AuditedGraph, tables: WorkflowTables, events: readonly EventRow[]): string[] {
  const endings = new Map(tables.history.map(row => [row.id, row]))
  const running = new Set<string>()
  const done = new Map<string, HistoryRow>()
  const findings: string[] = []
  for (const { type, executionId, node } of events) {
    if (executionId === null || node === null || !type.startsWith('step.')) continue
    const ending = endings.get(executionId)
    const ends = ending !== undefined && type === `step.${ending.state}`
    if (done.get(node)?.id === executionId) findings.push(`${node}: ${type} came after its end.`)
    if (type === 'step.started') {
      if (running.has(executionId)) findings.push(`${node} was started twice in one attempt.`)
      running.add(executionId)
    } else running.delete(executionId)
    for (const parent of graph.parents.get(node) ?? []) {
      const before = done.get(parent)
      if (before === undefined || !isSatisfying(before))
        findings.push(`${node}: ${type} came before the end of ${parent}.`)
    }
    if (ends) done.set(node, ending)
  }
  return [
    ...findings,
    ...(done.size === latestOf(tables.history).size ? [] : ['Some rows have ended without an event.']),
  ]
}
