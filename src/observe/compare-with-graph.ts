/**
 * Compares where a workflow stands with where its graph would have it: counters of fan-ins, steps that are due and have no
 * row, an end that is reached and was not declared. It lets the engine heal a copy, and looks at what that would change. Pure.
 */
import type { Graph } from '../definition/graph.ts'
import { joinsOver } from '../definition/join-stretch.ts'
import { ChangeDraft } from '../engine/change-draft.ts'
import { emptyFacts } from '../engine/empty-facts.ts'
import { bringInLine, mustHeal } from '../engine/heal.ts'
import { isSatisfied } from '../engine/is-satisfied.ts'
import { currentName, endNode, type Plan } from '../engine/plan.ts'
import { findFlaw } from '../engine/verify-history.ts'
import type { LatestEnding, WorkflowChange, WorkflowFacts } from '../store/change.ts'
import type { WorkflowFile } from '../store/event-store.ts'
import type { Outcome } from '../store/records.ts'
import { isOfThisRound } from '../store/rounds.ts'
import { byHand, type Complaint } from './complaint.ts'

const healing =
  'Deploy any change of its graph, or `importDag` it again: both write rows and counters anew. Then please report it.'

export function compareWithGraph(file: WorkflowFile, graph: Graph): Complaint[] {
  return [...comparePlaces(file, graph), ...checkAncestry(file, graph)]
}

function comparePlaces(file: WorkflowFile, graph: Graph): Complaint[] {
  const { workflow } = file
  if (workflow.state === 'finished') return checkFinished(file, graph)
  // Its rows are known not to stand as the graph would have them, or its end is declared: its counters are not used.
  if (workflow.crooked || workflow.pauseCause === 'finishing') return []
  const plan = planFor(graph, file)
  const draft = new ChangeDraft(factsOf(file), { counts: true })
  if (!mustHeal(draft, plan)) return []
  try {
    bringInLine(draft, plan)
  } catch {
    // Rows that fit nothing are found by what compares them with their events.
    return []
  }
  const change = draft.build()
  return [...checkRows(change, file, plan), ...checkCounters(change, file, graph)]
}

function checkRows(change: WorkflowChange, { active }: WorkflowFile, plan: Plan): Complaint[] {
  const there = new Set(active.map(row => currentName(plan, row.node)))
  const due = [...change.insertions, ...change.replacements].filter(row => !there.has(row.node))
  const early = change.events.filter(event => event.type === 'step.withdrawn')
  return [
    ...due.map(({ node }) => rule(node, `Step ${node} is due, but has no row.`)),
    ...early.map(({ node }) => rule(node ?? '', `Step ${node} has a row before all that it depends on has ended.`)),
    ...(change.update?.state === 'finished' ? [rule(null, 'Every step is done, but the workflow has not ended.')] : []),
  ]
}

function rule(node: string | null, problem: string): Complaint {
  return { kind: 'rule', problem, node, remedy: healing }
}

/** A counter that does not exist yet stands for all parents. */
function checkCounters({ fanIns }: WorkflowChange, file: WorkflowFile, graph: Graph): Complaint[] {
  const right = new Map([...fanIns.inserted, ...fanIns.updated].map(({ node, open }) => [node, open]))
  // A node that its condition kept out may still be counted down by what else it depends on. Nothing follows from that.
  const over = latestOf(file.history, graph)
  const nodes = new Set(
    [...right.keys(), ...file.fanIns.keys()].filter(node => over.get(node)?.outcome !== 'not_taken'),
  )
  return [...nodes].flatMap(node => {
    const whole = node === endNode ? graph.leaves.length : (graph.find(node)?.dependsOn.length ?? 0)
    const stored = file.fanIns.get(node) ?? whole
    const open = right.get(node) ?? 0
    if (stored === open) return []
    const what = node === endNode ? 'the end of the workflow' : `step ${node}`
    const problem = `The counter of ${what} says that ${stored} of its parents are open, but ${open} are.`
    return [{ kind: 'counter', problem, node: node === endNode ? null : node, remedy: healing }]
  })
}

/** How a node may have ended that another branch has left behind by `this.finish()`. */
const givenUp: ReadonlySet<Outcome> = new Set([
  'superseded',
  'paused_by_exception',
  'dead_lettered',
  'timed_out',
  'unknown',
  'canceled_by_flow_control',
])
/** The same for one in a branch that a join could have done without: its policy was waiting. */
const absorbed: ReadonlySet<Outcome> = new Set(['rolled_back_by_exception', 'canceled_by_exception'])

/** Every node is done, was left out, or stands where nothing came after it because a step has declared the end. */
function checkFinished({ workflow, history }: WorkflowFile, graph: Graph): Complaint[] {
  const latest = latestOf(
    history.filter(row => isOfThisRound(workflow.rounds, row)),
    graph,
  )
  return graph.nodes.flatMap(({ id }) => {
    const ending = latest.get(id)
    if (!ending || isSatisfied(ending) || ending.outcome === 'not_taken') return []
    // A join that need not wait for all answers for it.
    const joins = joinsOver(graph, id)
    if (joins.some(({ join }) => latest.has(join.id))) return []
    if (joins.length > 0 && absorbed.has(ending.outcome)) return []
    const wentOn = graph.childrenOf(id).some(child => latest.has(child.id))
    if (givenUp.has(ending.outcome) && (ending.outcome === 'superseded' || !wentOn)) return []
    const problem = `The workflow is finished, but step ${id} is ${ending.state} (${ending.outcome}).`
    return [
      {
        kind: 'rule',
        problem,
        node: id,
        executionId: ending.id,
        remedy: '`rerun` it from that step. Then please report it.',
      },
    ]
  })
}

/** Hashes are computed by names, and a step may have had others. */
function checkAncestry({ history, active }: WorkflowFile, { renamed }: Graph): Complaint[] {
  const flaw = findFlaw(history, active, renamed)
  if (flaw === null) return []
  const { executionId, node, attempt, reason } = flaw
  return [
    { kind: 'ancestry', problem: `Step ${node} attempt ${attempt}: ${reason}`, executionId, node, remedy: byHand },
  ]
}

function latestOf(history: WorkflowFile['history'], { renamed }: Graph): Map<string, LatestEnding> {
  const latest = new Map<string, LatestEnding>()
  for (const row of history) {
    if (row.kind !== 'forward') continue
    const node = currentName({ renamed }, row.node)
    const known = latest.get(node)
    if (!known || known.attempt < row.attempt) latest.set(node, { ...row, input: null })
  }
  return latest
}

function factsOf({ workflow, active, history, letters, fanIns }: WorkflowFile): WorkflowFacts {
  const latest = new Map<string, LatestEnding>()
  for (const row of history) {
    const known = latest.get(row.node)
    if (row.kind === 'forward' && (!known || known.attempt < row.attempt)) latest.set(row.node, { ...row, input: null })
  }
  return { ...emptyFacts(workflow), active, latest, letters, fanIns }
}

function planFor(graph: Graph, { workflow }: WorkflowFile): Plan {
  let ids = 0
  return {
    graph,
    generation: workflow.generation,
    heals: true,
    previous: null,
    former: [],
    renamed: graph.renamed,
    handlerOf: () => workflow.type,
    takeId: () => `new ${ids++}`,
  }
}
