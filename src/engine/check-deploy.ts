/**
 * Says what code that is about to be deployed will do to workflows that run: what heals by itself, what needs a map of
 * renamed steps, which joins are lost, what would be left standing. It writes nothing, and registers nothing.
 */

import { Graph, type GraphData } from '../definition/graph.ts'
import { describeDifference, differenceBetween } from '../definition/graph-difference.ts'
import { likelyRename } from '../definition/likely-rename.ts'
import type { Registry } from '../definition/registry.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import type { WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { ActiveExecution } from '../store/records.ts'
import type { CloserLook, Store } from '../store/store.ts'
import { ChangeDraft } from './change-draft.ts'
import { type JoinOutlook, joinOutlook } from './check-joins.ts'
import { askedIn, enoughConfirmed } from './close-wait.ts'
import { typesOf } from './courses.ts'
import { historyToo } from './engine.ts'
import { bringInLine } from './heal.ts'
import { isEndedByJoin } from './joins.ts'
import { lostNodesOf } from './lost-nodes.ts'
import { noLongerWaits } from './outdated-waits.ts'
import { currentName, type Plan } from './plan.ts'

/**
 * `unchanged`: it goes on as it was. `heals`: its rows are brought in line with the new graph. `needs_map`: it stands at a
 * step that the code does not have, while the code has a new one: perhaps it was renamed. `orphaned`: it stands at a step
 * that is gone, and will fail there and pause; or a join of it can never go on any more.
 */
export type CheckVerdict = 'unchanged' | 'heals' | 'needs_map' | 'orphaned'

/** Workflows of one class to which the same will happen. */
export interface CheckFinding {
  readonly type: string
  readonly verdict: CheckVerdict
  /** What will happen, in a sentence. */
  readonly what: string
  readonly count: number
  /** Some of their ids. */
  readonly examples: readonly string[]
}

export interface CheckReport {
  readonly findings: readonly CheckFinding[]
  /** How many workflows were looked at. */
  readonly workflows: number
  /** False when a workflow would be orphaned. */
  readonly ok: boolean
}

const pageSize = 100
const maxExamples = 5

export async function checkDeploy(store: Store, registry: Registry): Promise<CheckReport> {
  const groups = new Map<string, { type: string; verdict: CheckVerdict; what: string; ids: string[]; count: number }>()
  let workflows = 0
  for (const definition of registry.definitions) {
    for await (const { id, verdict, what } of allOutlooks(store, definition)) {
      workflows++
      const key = JSON.stringify([definition.type, verdict, what])
      const group = groups.get(key) ?? { type: definition.type, verdict, what, ids: [], count: 0 }
      group.count++
      if (group.ids.length < maxExamples) group.ids.push(id)
      groups.set(key, group)
    }
  }
  const findings = [...groups.values()].map(({ ids, ...group }) => ({ ...group, examples: ids }))
  return { findings, workflows, ok: findings.every(finding => finding.verdict !== 'orphaned') }
}

interface Outlook {
  readonly id: string
  readonly verdict: CheckVerdict
  readonly what: string
}

/** Each name that a class has had counts its own generations. */
async function* allOutlooks(store: Store, definition: WorkflowDefinition): AsyncGenerator<Outlook> {
  for (const type of typesOf(definition)) yield* outlooks(store, definition, type)
}

async function* outlooks(store: Store, definition: WorkflowDefinition, type: string): AsyncGenerator<Outlook> {
  const types = [type]
  const stored = await store.allGraphs(types)
  const own = stored.find(graph => graph.signature === definition.signature)
  const generation = own?.generation ?? Math.max(0, ...stored.map(graph => graph.generation)) + 1
  const earlier = new Map(
    stored.map(graph => [graph.generation, new Graph(JSON.parse(graph.graph) as GraphData)] as const),
  )
  let before: string | undefined
  for (;;) {
    const states = ['ready', 'performing', 'paused', 'dlq'] as const
    const page = await store.listWorkflows({
      types,
      states,
      limit: pageSize,
      ...(before === undefined ? {} : { before }),
    })
    const targets = page.filter(({ workflow }) => workflow.frozen === null).map(({ workflow }) => workflow.id)
    const found: Outlook[] = []
    await store.change(
      targets.map(workflowId => ({ workflowId, withLatest: true })),
      facts => {
        const previous = earlier.get(facts.workflow.generation) ?? null
        found.push({ id: facts.workflow.id, ...outlookOf(facts, { definition, generation, previous }) })
        return null
      },
      { look: facts => peopleIn(definition.graph, facts) },
    )
    yield* found
    if (page.length < pageSize) return
    before = page.at(-1)?.workflow.id
  }
}

/** What people have said so far, where they are asked: the new code may ask for fewer of them. */
function peopleIn(graph: Graph, facts: WorkflowFacts): CloserLook | null {
  const decided = askedIn(graph, facts)
  return decided.length === 0 ? null : { ...historyToo(facts), undo: false, decided }
}

interface NewCode {
  readonly definition: WorkflowDefinition
  readonly generation: number
  readonly previous: Graph | null
}

function outlookOf(facts: WorkflowFacts, { definition, generation, previous }: NewCode): Omit<Outlook, 'id'> {
  const { graph } = definition
  if (facts.workflow.generation > generation) {
    return { verdict: 'orphaned', what: 'It goes by newer code. What that puts in its way waits until it is back.' }
  }
  if (facts.workflow.generation === generation && !facts.workflow.crooked)
    return { verdict: 'unchanged', what: 'It goes on as it is.' }
  let ids = 0
  const plan: Plan = {
    graph,
    generation,
    heals: true,
    previous,
    former: [],
    renamed: graph.renamed,
    handlerOf: () => facts.workflow.type,
    takeId: () => `new ${ids++}`,
  }
  const draft = new ChangeDraft(facts, { counts: true })
  const lost = lostNodesOf(draft, plan)
  const running = new Set(facts.active.filter(row => row.state === 'in_progress').map(row => row.node))
  const idle = lost.filter(node => !running.has(node))
  const joins = joinOutlook(draft, plan)
  if (idle.length > 0) return withJoins(lostOutlook(idle, facts, plan), joins)
  if (lost.length > 0) {
    const what = `${lost.join(', ')} still runs with the code before; it goes on when that has ended.`
    return withJoins({ verdict: 'heals', what }, joins)
  }
  if (joins.lost.length > 0) return withJoins({ verdict: 'orphaned', what: changesIn(plan) }, { ...joins, early: [] })
  bringInLine(draft, plan)
  const effects = effectsOf(draft.build(), facts, plan)
  return {
    verdict: 'heals',
    what: `${changesIn(plan)}${effects.length === 0 ? 'Nothing happens to it now.' : `${effects.join('; ')}.`}`,
  }
}

/** With a space behind it, where there is something to be said. */
function changesIn({ graph, previous }: Plan): string {
  const difference = previous === null ? '' : describeDifference(differenceBetween(previous, graph, graph.renamed))
  return difference === '' || difference === 'nothing changed' ? '' : `The graph has changed: ${difference}. `
}

/** A join that is lost stops the workflow, whatever else becomes of it: no map of names brings it back. */
function withJoins({ verdict, what }: Omit<Outlook, 'id'>, { lost, early }: JoinOutlook): Omit<Outlook, 'id'> {
  const sentences = [what.trim(), ...lost, ...early.map(join => `Then join ${join} goes on.`)]
  return {
    verdict: lost.length > 0 ? 'orphaned' : verdict,
    what: sentences.filter(sentence => sentence !== '').join(' '),
  }
}

function lostOutlook(lost: readonly string[], facts: WorkflowFacts, { graph, previous }: Plan): Omit<Outlook, 'id'> {
  const steps = lost.join(', ')
  const skips = graph.data.onMissingStep === 'skip'
  const goesOn = (node: string) => facts.active.some(row => row.node === node && row.state !== 'paused')
  const then = lost.every(goesOn) ? 'it is skipped' : 'it is skipped when it is resumed or requeued'
  const added = previous === null ? [] : differenceBetween(previous, graph, graph.renamed).added
  if (previous !== null && added.length > 0) {
    const are = added.length === 1 ? 'is' : 'are'
    const guesses = lost.flatMap(node => {
      const guess = likelyRename(node, previous, graph)
      return guess === null ? [] : [`${node}: '${guess}'`]
    })
    const how = guesses.length === 0 ? ' with `this.renamed`' : `: \`this.renamed({ ${guesses.join(', ')} })\``
    return {
      verdict: 'needs_map',
      what: `It stands at ${steps}, which the code does not have, while ${added.join(', ')} ${are} new. If it was renamed, say so${how}. Without that ${skips ? then : 'it fails there and pauses'}.`,
    }
  }
  if (skips) {
    return {
      verdict: 'heals',
      what: `It stands at ${steps}, which the code does not have: ${then}, as \`onMissingStep\` says.`,
    }
  }
  return {
    verdict: 'orphaned',
    what: `It stands at ${steps}, which the code does not have. It will fail there and pause.`,
  }
}

function effectsOf(change: WorkflowChange, facts: WorkflowFacts, plan: Plan): string[] {
  const existing = new Set(facts.active.map(row => currentName(plan, row.node)))
  const rows = [...change.insertions, ...change.replacements].filter(row => !existing.has(row.node))
  const withdrawn = change.events.filter(event => event.type === 'step.withdrawn')
  const renamed = change.events.filter(event => event.type === 'step.renamed')
  const moved = new Set(change.moves.filter(move => move.state !== 'waiting').map(move => move.slot))
  const confirmed = change.events.filter(event => event.reason === enoughConfirmed)
  const isConfirmed = (row: ActiveExecution) => confirmed.some(event => event.executionId === row.id)
  const freed = facts.active.filter(row => row.state === 'waiting' && moved.has(row.slot) && !isConfirmed(row))
  const called = change.events.filter(event => event.reason === noLongerWaits)
  const isJoin = (node: string) => plan.graph.find(node)?.kind === 'join'
  const passed = change.endings.filter(({ execution, state }) => isJoin(execution.node) && state === 'completed')
  const beaten = change.endings.filter(isEndedByJoin)
  const leftOut = change.endings.filter(ending => ending.outcome === 'not_taken' && !isEndedByJoin(ending))
  return [
    ...rows.map(row => `${row.node} is ${row.state === 'paused' ? 'held until it is resumed' : 'scheduled'}`),
    ...withdrawn.map(event => `${event.node} goes back to waiting for what comes before it`),
    ...renamed.map(event => `${event.node} goes on under its new name`),
    ...freed.map(row => `${row.node} need not wait for a place any more`),
    ...confirmed.map(event => `${event.node} has been confirmed by as many as it needs now`),
    ...called.map(event => `${event.node} waits for nobody any more, and is run as what it is now`),
    ...passed.map(({ execution }) => `join ${plan.graph.nameOf(execution.node)} goes on`),
    ...beaten.map(({ execution }) => `${execution.node} is left out, because a join goes on without it`),
    ...leftOut.map(ending => `${ending.execution.node} is left out, because the workflow is past it`),
    ...(change.update?.state === 'finished' ? ['it ends'] : []),
  ]
}
