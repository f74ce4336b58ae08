/**
 * Joins that need not wait for all of their branches: any of them, so many, or all in whatever way they end. A step that
 * fails in such a branch ends its branch only, as long as the join can do without it. Pure; the facts must be complete.
 */
import { type JoinStretch, joinsOver, selectiveJoins } from '../definition/join-stretch.ts'
import type { LatestEnding } from '../store/change.ts'
import type { ChangeDraft, LiveRow } from './change-draft.ts'
import { isSatisfied } from './is-satisfied.ts'
import { latestUnder } from './parents.ts'
import { leaveOut } from './pass-node.ts'
import { currentName, ownerOf, type Plan } from './plan.ts'
import { stopChild } from './wind-down.ts'

/** How a branch stands. `left_out`: nothing of it was taken. `skipped`: what was taken was skipped. */
export type BranchStanding = 'open' | 'succeeded' | 'skipped' | 'left_out' | 'failed'

/** What becomes of a join. `lost`: it can never go on. */
export type JoinFate = 'fires' | 'waits' | 'left_out' | 'lost'

/** One decision for every combination of branches. */
export function fateOfJoin(
  rule: 'settled' | { readonly atLeast: number },
  branches: readonly BranchStanding[],
): JoinFate {
  const count = (standing: BranchStanding) => branches.filter(branch => branch === standing).length
  if (branches.length > 0 && count('left_out') === branches.length) return 'left_out'
  if (rule === 'settled') return count('open') === 0 ? 'fires' : 'waits'
  const succeeded = count('succeeded')
  if (succeeded >= rule.atLeast) return 'fires'
  const needed = Math.min(rule.atLeast, branches.length - count('left_out') - count('skipped'))
  if (count('open') === 0) return succeeded >= needed ? 'fires' : 'lost'
  return succeeded + count('open') < needed ? 'lost' : 'waits'
}

/** The attempts at the nodes of a workflow, as joins look at them: of a draft, or as they were read. */
export interface Attempts<Ended extends HowEnded = HowEnded> {
  /** Those that have not ended. */
  rows(): readonly Pick<LiveRow, 'node' | 'kind' | 'state'>[]
  /** The latest of a node that has ended. */
  latestOf(node: string): Ended | null
  endedNodes(): ReadonlySet<string>
}

export type HowEnded = Pick<LatestEnding, 'node' | 'state' | 'outcome'>

type Shape = Pick<Plan, 'graph' | 'renamed'>

function isDecided(attempts: Attempts, plan: Shape, { join }: JoinStretch): boolean {
  return latestUnder(attempts, plan, join.id) !== null
}

/** A join over the node was decided: whatever the node still does, nothing follows from it. */
export function isBeaten(attempts: Attempts, plan: Shape, node: string): boolean {
  return joinsOver(plan.graph, node).some(stretch => isDecided(attempts, plan, stretch))
}

export class SelectiveJoins {
  readonly #attempts: Attempts
  readonly #plan: Shape
  /** A node that is about to fail. */
  readonly #failing: string | null
  /** Nodes and items with a row, without the one that is about to fail. */
  readonly #active: ReadonlySet<string>
  /** Those of them that something can still come of: a node that waits for its items has nothing to do but by them. */
  readonly #open: ReadonlySet<string>
  /** Items with an ended attempt, by the node that they belong to. Few graphs have any. */
  #items: ReadonlyMap<string, readonly string[]> | null = null

  constructor(attempts: Attempts, plan: Shape, failing: string | null = null) {
    this.#attempts = attempts
    this.#plan = plan
    this.#failing = failing === null ? null : currentName(plan, failing)
    const active = new Set<string>()
    const open = new Set<string>()
    for (const row of attempts.rows()) {
      const name = currentName(plan, row.node)
      if (row.kind !== 'forward' || name === this.#failing) continue
      active.add(name)
      if (row.state !== 'waiting' || plan.graph.find(name)?.kind !== 'each') open.add(name)
    }
    this.#active = active
    this.#open = open
  }

  fateOf(stretch: JoinStretch): JoinFate {
    const rule = stretch.join.join?.rule ?? 'settled'
    const branches = (stretch.join.join?.branches ?? []).map((ends, branch) => this.#branch(stretch, branch, ends))
    return fateOfJoin(rule === 'all' ? { atLeast: branches.length } : rule, branches)
  }

  /** A failed node that no longer matters: a join over it was decided, or can do without its branch. */
  isAbsorbed(node: string): boolean {
    for (const stretch of joinsOver(this.#plan.graph, node)) {
      if (this.isDecided(stretch) || this.fateOf(stretch) !== 'lost') return true
    }
    return false
  }

  isDecided(stretch: JoinStretch): boolean {
    return isDecided(this.#attempts, this.#plan, stretch)
  }

  isBeaten(node: string): boolean {
    return isBeaten(this.#attempts, this.#plan, node)
  }

  #branch(stretch: JoinStretch, branch: number, ends: readonly string[]): BranchStanding {
    const { branchOf, losers } = stretch
    const inside = [...losers].filter(id => branchOf.get(id) === branch)
    if (this.#hasFailed(stretch, inside)) {
      const waits = stretch.join.join?.rule === 'settled' && this.#isOpenIn(new Set(inside))
      return waits ? 'open' : 'failed'
    }
    const latest = ends.map(id => this.#latest(id))
    const done = latest.filter(ending => ending !== null && (isSatisfied(ending) || ending.outcome === 'not_taken'))
    if (done.length < ends.length) return 'open'
    const taken = latest.filter(ending => ending !== null && ending.outcome !== 'not_taken')
    if (taken.length === 0) return 'left_out'
    return taken.some(ending => ending?.state === 'completed') ? 'succeeded' : 'skipped'
  }

  /** Something in the branch has failed for good, and no join inside the branch makes up for it. */
  #hasFailed(stretch: JoinStretch, inside: readonly string[]): boolean {
    return inside.some(id => {
      if (!this.#isOver(id)) return false
      const inner = joinsOver(this.#plan.graph, id).filter(
        other => other !== stretch && other.branchOf.size < stretch.branchOf.size,
      )
      return inner.every(other => !this.isDecided(other) && this.fateOf(other) === 'lost')
    })
  }

  /** A node that waits for its items is over with the first of them that is: it can never be satisfied by the others. */
  #isOver(id: string): boolean {
    const failing = this.#failing
    if (failing !== null && (failing === id || ownerOf(failing) === id)) return true
    if (!this.#active.has(id)) return isOver(this.#latest(id))
    return !this.#open.has(id) && this.#endedItems(id).some(item => isOver(this.#latest(item)))
  }

  #endedItems(each: string): readonly string[] {
    this.#items ??= itemsByNode(this.#attempts, this.#plan)
    return this.#items.get(each) ?? []
  }

  #isOpenIn(inside: ReadonlySet<string>): boolean {
    return [...this.#open].some(name => inside.has(ownerOf(name) ?? name))
  }

  /** `null` while it has a row, or has not been reached. */
  #latest(id: string): HowEnded | null {
    return this.#active.has(id) ? null : latestUnder(this.#attempts, this.#plan, id)
  }
}

/** A call that may have happened is not over before somebody has settled it. */
function isOver(ending: HowEnded | null): boolean {
  if (ending === null || ending.outcome === 'unknown') return false
  return ending.state === 'failed' || ending.outcome === 'rejected'
}

function itemsByNode(attempts: Attempts, plan: Shape): Map<string, string[]> {
  const items = new Map<string, string[]>()
  for (const node of attempts.endedNodes()) {
    const name = currentName(plan, node)
    const each = ownerOf(name)
    if (each === null) continue
    const known = items.get(each)
    if (known) known.push(name)
    else items.set(each, [name])
  }
  return items
}

/** Something on the way to the join has failed, be it an item. */
export function hasFailedIn(draft: ChangeDraft, plan: Plan, { losers }: JoinStretch): boolean {
  return [...draft.endedNodes()].some(node => {
    const name = currentName(plan, node)
    return losers.has(ownerOf(name) ?? name) && latestUnder(draft, plan, name)?.state === 'failed'
  })
}

/** Whether the end of a node says that a join has gone on without it. */
export function isEndedByJoin({ outcome, reason }: Pick<LatestEnding, 'outcome' | 'reason'>): boolean {
  if (outcome !== 'superseded' && outcome !== 'not_taken') return false
  return /^join .* was decided/.test(reason ?? '')
}

/**
 * The join has been decided: what was on the way to it and is not needed any more ends, with the letters of what was given up there.
 * What runs is told to stop. Whoever decides on joins lets the workflow go on that such a letter has held.
 */
export function supersede(draft: ChangeDraft, plan: Plan, stretch: JoinStretch): void {
  const { join, losers } = stretch
  const isLoser = (name: string) => losers.has(ownerOf(name) ?? name)
  const reason = `join ${join.name} was decided`
  for (const row of draft.rows()) {
    if (!isLoser(currentName(plan, row.node))) continue
    if (row.state === 'in_progress') draft.stop(row)
    else {
      const left = stopChild(draft, row, { by: null, reason: null }, plan)
      draft.end(left, 'canceled', 'superseded', { reason })
    }
  }
  for (const letter of draft.letters()) {
    if (letter.kind !== 'forward' || !isLoser(currentName(plan, letter.node))) continue
    draft.closeLetter(letter, 'discarded', { by: null, reason })
    if (draft.workflow.blockedBy === letter.node) draft.setWorkflow({ blockedBy: null })
  }
  for (const node of plan.graph.inOrder()) {
    if (!losers.has(node.id) || latestUnder(draft, plan, node.id) !== null) continue
    if (draft.rows().some(row => currentName(plan, row.node) === node.id)) continue
    leaveOut(draft, plan, node, `join ${join.name} was decided without it`)
  }
}

/** The stretch of a join that need not wait for all; `null` for any other node. */
export function stretchTo(plan: Plan, join: string): JoinStretch | null {
  return selectiveJoins(plan.graph).find(stretch => stretch.join.id === join) ?? null
}

/** Whether any join of the graph need not wait for all: then decisions about it must see everything. */
export function isSelective(graph: Plan['graph']): boolean {
  return selectiveJoins(graph).length > 0
}
