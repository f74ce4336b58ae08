/**
 * Brings a workflow in line with a graph that has changed under it: what is new runs if nothing behind it has started, what
 * was only scheduled waits for new parents, what has started is left alone. It works from the states of all nodes, never
 * from counters, and computes the counters anew. Pure; the facts must be complete.
 */

import type { GraphNode } from '../definition/graph.ts'
import { describeDifference, differenceBetween, nothingChanged } from '../definition/graph-difference.ts'
import type { LatestEnding } from '../store/change.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { closeConfirmedWaits } from './close-wait.ts'
import { fillPlaces, isCrowded, itemsIn } from './each-items.ts'
import { healingFacts } from './event-names.ts'
import { isSatisfied } from './is-satisfied.ts'
import { itemsDone } from './items-done.ts'
import { isBeaten, SelectiveJoins, stretchTo } from './joins.ts'
import { actOnLostJoins } from './lost-joins.ts'
import { endLostWaits, lostNodesOf } from './lost-nodes.ts'
import { endOutdatedWaits } from './outdated-waits.ts'
import { latestUnder } from './parents.ts'
import { isGuardOpen, isPassive, leaveOut, passNode, resultOf } from './pass-node.ts'
import { currentName, endNode, ownerOf, type Plan } from './plan.ts'
import { renameRow } from './rename-row.ts'
import { decideJoin, endWorkflow, insertFirst } from './schedule.ts'
import { hasWaited } from './stored-input.ts'
import { limitWaits } from './wait-timers.ts'
import { childOf, pauseIfStuck } from './wind-down.ts'

/** The rows of the workflow cannot be trusted to stand as the graph would have them. One that ends needs no healing. */
export function mustHeal(draft: ChangeDraft, plan: Plan): boolean {
  if (!plan.heals || draft.facts.latest === null || draft.workflow.finishing) return false
  return draft.state === 'ready' || draft.isHeld
}

/** With what follows from it: a join that can never go on by the new graph lets the policies act that have waited for it. */
export function heal(draft: ChangeDraft, plan: Plan): void {
  bringInLine(draft, plan)
  actOnLostJoins(draft, plan)
  pauseIfStuck(draft)
}

/** The rows and counters alone. */
export function bringInLine(draft: ChangeDraft, plan: Plan): void {
  const from = draft.workflow.generation
  // An item is told by the row of the node that it belongs to, so that comes first.
  const isItem = (row: LiveRow) => Number(ownerOf(row.node) !== null)
  for (const row of draft.rows().toSorted((a, b) => isItem(a) - isItem(b))) renameRow(draft, plan, row)
  settleItems(draft, plan)
  endLostWaits(draft, plan)
  endOutdatedWaits(draft, plan)
  closeConfirmedWaits(draft, plan)
  const standing = new Standing(draft, plan)
  withdrawEarly(draft, standing)
  const waits = lostNodesOf(draft, plan).length > 0
  const open = new Map<string, number>()
  for (const node of plan.graph.inOrder()) {
    if (standing.hasBegun(node) || standing.rowOf(node)) open.set(node.id, 0)
    else open.set(node.id, settleNode(draft, plan, standing, { node, waits }))
  }
  limitWaits(draft, plan)
  // What a join that was decided just now did without has ended.
  const after = new Standing(draft, plan)
  writeCounters(draft, plan, after, open)
  const crooked = waits || after.isCrooked() || plan.graph.nodes.some(node => isCrowded(draft, plan, node))
  if (from !== plan.generation || crooked !== draft.workflow.crooked) {
    draft.setWorkflow({ generation: plan.generation, crooked })
  }
  if (from !== plan.generation) noteHealing(draft, plan)
}

/** Nodes whose items have all ended are done, and places that are free are taken. */
function settleItems(draft: ChangeDraft, plan: Plan): void {
  for (const row of draft.rows()) {
    if (row.state !== 'waiting' || ownerOf(row.node) !== null || childOf(row) !== null) continue
    const name = currentName(plan, row.node)
    const ended = endedItems(draft, plan, name)
    const isOpen = itemsIn(draft, plan, name).length > 0 || !ended.every(isSatisfied)
    if (ended.length > 0 && !isOpen) draft.end(row, 'completed', 'success', { reason: itemsDone })
    else fillPlaces(draft, plan, name)
  }
}

/** The latest ended attempts of a node's items. */
function endedItems(draft: ChangeDraft, plan: Plan, each: string): LatestEnding[] {
  const names = new Set([...draft.endedNodes()].map(name => currentName(plan, name)))
  return [...names].flatMap(name => (ownerOf(name) === each ? (latestUnder(draft, plan, name) ?? []) : []))
}

/** Inserts the node if it is due, marks it as left out if it came too late, and tells how many parents are open. */
function settleNode(
  draft: ChangeDraft,
  plan: Plan,
  standing: Standing,
  { node, waits }: { readonly node: GraphNode; readonly waits: boolean },
): number {
  const parents = node.dependsOn
  const allLeftOut = parents.length > 0 && parents.every(id => standing.wasLeftOut(id))
  if (allLeftOut || standing.isKeptOut(node)) {
    leaveOut(draft, plan, node, 'it lies on a way that was not taken')
    return 0
  }
  if (standing.isPassed(node)) {
    leaveOut(draft, plan, node, 'it was added behind the point that the workflow had reached')
    return 0
  }
  const stretch = stretchTo(plan, node.id)
  if (stretch !== null) {
    const fate = waits ? 'waits' : new SelectiveJoins(draft, plan).fateOf(stretch)
    if (fate === 'left_out') leaveOut(draft, plan, node, 'it lies on a way that was not taken')
    if (fate === 'fires') {
      passNode(draft, plan, node)
      decideJoin(draft, plan, node)
    }
    return fate === 'waits' || fate === 'lost' ? 1 : 0
  }
  const open = parents.filter(id => !standing.isDone(id)).length
  // While a node that the code has lost is not settled, nobody knows whether what took its place has happened already.
  if (open === 0 && !waits) {
    if (isPassive(node)) passNode(draft, plan, node)
    else insertFirst(draft, plan, node)
  }
  return open
}

/** A row that nobody has begun goes back to waiting for parents that it did not have when it was scheduled. */
function withdrawEarly(draft: ChangeDraft, standing: Standing): void {
  for (const node of standing.nodes) {
    const row = standing.rowOf(node)
    if (!row || standing.hasBegun(node) || standing.isPassed(node)) continue
    if (node.dependsOn.every(id => standing.isDone(id))) continue
    draft.withdraw(row, 'it has new parents that have not ended')
    standing.forget(node)
  }
}

/** Where every node stands, under the names that the code has now. */
class Standing {
  readonly nodes: readonly GraphNode[]
  readonly #draft: ChangeDraft
  readonly #plan: Plan
  readonly #rows = new Map<string, LiveRow>()
  readonly #begun = new Set<string>()
  readonly #passed = new Set<string>()

  constructor(draft: ChangeDraft, plan: Plan) {
    this.nodes = plan.graph.nodes
    this.#draft = draft
    this.#plan = plan
    for (const row of draft.rows()) this.#rows.set(currentName(plan, row.node), row)
    for (const node of this.nodes) if (this.#started(node)) this.#begun.add(node.id)
    for (const node of plan.graph.inOrder().reverse()) {
      // What was left out has not begun: nothing is past what stands before it.
      const ahead = plan.graph
        .childrenOf(node.id)
        .some(({ id }) => (this.#begun.has(id) && !this.wasLeftOut(id)) || this.#passed.has(id))
      if (ahead) this.#passed.add(node.id)
    }
  }

  rowOf(node: GraphNode): LiveRow | null {
    return this.#rows.get(node.id) ?? null
  }

  forget(node: GraphNode): void {
    this.#rows.delete(node.id)
  }

  /** It has ended at least once, or its code may have been called. */
  hasBegun(node: GraphNode): boolean {
    return this.#begun.has(node.id)
  }

  /** Something that comes after it has begun. */
  isPassed(node: GraphNode): boolean {
    return this.#passed.has(node.id)
  }

  /** Nothing has to wait for it any more. */
  isDone(id: string): boolean {
    return this.wasLeftOut(id) || this.#isSatisfied(id) || this.isBeaten(id)
  }

  /** A join that did without it was decided: it may still run. */
  isBeaten(id: string): boolean {
    return isBeaten(this.#draft, this.#plan, id)
  }

  wasLeftOut(id: string): boolean {
    return !this.#rows.has(id) && this.#latest(id)?.outcome === 'not_taken'
  }

  /** Its condition came out otherwise, or was left out. */
  isKeptOut(node: GraphNode): boolean {
    const { guard } = node
    if (guard === undefined || !this.isDone(guard.condition)) return false
    return !isGuardOpen(node, resultOf(this.#latest(guard.condition)))
  }

  /** Also if a join has gone on without it which is not in the graph any more, or needs all by now. */
  #isSatisfied(id: string): boolean {
    const latest = this.#latest(id)
    if (this.#rows.has(id) || latest === null) return false
    return isSatisfied(latest) || latest.outcome === 'superseded'
  }

  #latest(id: string): LatestEnding | null {
    return latestUnder(this.#draft, this.#plan, id)
  }

  #started(node: GraphNode): boolean {
    const row = this.#rows.get(node.id)
    if (this.#latest(node.id) !== null) return true
    if (row === undefined) return false
    const isUnderWay = (row.state !== 'scheduled' && row.state !== 'paused') || row.heldFrom === 'suspended'
    // What it was told, and how far it has come, would be taken back with it.
    return row.attempt > 1 || isUnderWay || hasWaited(row.input) || hasComeAlong(node, row)
  }

  /** Something has begun, or was left out, before what it depends on has ended: a counter could reach zero twice, or early. */
  isCrooked(): boolean {
    const isPast = (node: GraphNode) => this.hasBegun(node) || this.wasLeftOut(node.id)
    return this.nodes.some(node => isPast(node) && node.dependsOn.some(id => !this.isDone(id)))
  }

  /** How many items of an `each` node are open, if its items are known. */
  openItems(node: GraphNode): number {
    const active = itemsIn(this.#draft, this.#plan, node.id)
    const failed = endedItems(this.#draft, this.#plan, node.id).filter(
      item => !isSatisfied(item) && !this.#rows.has(currentName(this.#plan, item.node)),
    )
    return active.length + failed.length
  }
}

/** A resumable step that was given back stands in line again, and keeps its cursor and that it has run. */
function hasComeAlong({ kind }: GraphNode, { progress }: LiveRow): boolean {
  const { cursor, completedIterations, runs } = progress
  return cursor !== null || completedIterations > 0 || (kind === 'resumable' && runs > 0)
}

function writeCounters(draft: ChangeDraft, plan: Plan, standing: Standing, open: ReadonlyMap<string, number>): void {
  const { graph } = plan
  for (const node of draft.knownFanIns()) draft.setOpenParents(node, 0)
  for (const node of graph.nodes) {
    const counts = node.dependsOn.length > 1 && stretchTo(plan, node.id) === null
    const parents = counts ? (open.get(node.id) ?? 0) : 0
    const count = node.kind === 'each' && standing.rowOf(node) ? standing.openItems(node) : parents
    if (count > 0) draft.setOpenParents(node.id, count)
  }
  const leaves = graph.leaves.filter(node => !standing.isDone(node.id))
  if (leaves.length > 0 && graph.leaves.length > 1) draft.setOpenParents(endNode, leaves.length)
  // What comes last may have ended before what has come to stand before it.
  const isOver = graph.nodes.every(node => standing.isDone(node.id)) && lostNodesOf(draft, plan).length === 0
  const isNeeded = (row: LiveRow) => !standing.isBeaten(currentName(plan, row.node))
  if (isOver && !draft.rows().some(isNeeded)) endWorkflow(draft, plan)
}

function noteHealing(draft: ChangeDraft, plan: Plan): void {
  const { previous, graph, renamed } = plan
  const difference = previous === null ? null : differenceBetween(previous, graph, renamed)
  const words = difference === null ? nothingChanged : describeDifference(difference)
  const payload = difference === null ? null : healingFacts(difference.removed)
  draft.note('workflow.healed', { reason: words === nothingChanged ? null : words, payload })
}
