/**
 * Where the nodes of a workflow stand, under the names that the code has now: the row of each, its latest ended attempt,
 * and what it still depends on. Pure; it reads facts and decides nothing.
 */
import type { Graph, GraphNode } from '../definition/graph.ts'
import type { StandingEnd, StandingRow, WorkflowStanding } from '../store/readiness-facts.ts'
import { isOfThisRound } from '../store/rounds.ts'
import { failedNodes, hasFailed } from './failed-nodes.ts'
import { isSatisfied } from './is-satisfied.ts'
import { type Attempts, isSelective } from './joins.ts'
import { currentName, ownerOf } from './plan.ts'

export interface NodeStanding {
  readonly id: string
  /** `null`: the code does not have it any more. */
  readonly node: GraphNode | null
  readonly row: StandingRow | null
  readonly latest: StandingEnd | null
  readonly openParents: readonly string[]
  /** It has failed, and a join can do without it. */
  readonly isSpared: boolean
}

/** Every node of the graph in order, with the items that are not done behind their node; then what the code has lost. */
export function nodeStandings(standing: WorkflowStanding, graph: Graph): NodeStanding[] {
  const standings = new Standings(standing, graph)
  const known = graph.nodes.flatMap(node => [node.id, ...standings.openItemsOf(node.id)])
  const shown = new Set(known)
  const lost = standings.unsettled().filter(name => !shown.has(name))
  return [...known, ...lost].map(id => standings.of(id))
}

class Standings implements Attempts<StandingEnd> {
  readonly #graph: Graph
  readonly #rows = new Map<string, StandingRow>()
  readonly #latest = new Map<string, StandingEnd>()
  readonly #items = new Map<string, string[]>()
  readonly #spared: ReadonlySet<string>

  constructor({ workflow, active, latest }: WorkflowStanding, graph: Graph) {
    this.#graph = graph
    for (const row of active) if (row.kind !== 'timer') this.#rows.set(currentName(graph, row.node), row)
    for (const ending of latest.values()) {
      const name = currentName(graph, ending.node)
      // What an earlier round has done is done again.
      if (!isOfThisRound(workflow.rounds, ending)) continue
      // What stands under the present name is newer than what stands under a former one.
      if (ending.node === name || !this.#latest.has(name)) this.#latest.set(name, ending)
    }
    for (const name of this.unsettled()) {
      const each = graph.eachOf(name)
      if (each) this.#items.set(each.id, [...(this.#items.get(each.id) ?? []), name])
    }
    this.#spared = this.#sparedNodes()
  }

  rows(): readonly StandingRow[] {
    return [...this.#rows.values()]
  }

  /** By the name that the node has now, as everything here. */
  latestOf(name: string): StandingEnd | null {
    return this.#latest.get(name) ?? null
  }

  endedNodes(): ReadonlySet<string> {
    return new Set(this.#latest.keys())
  }

  /** What has failed and is not among what the engine waits for somebody to settle. */
  #sparedNodes(): ReadonlySet<string> {
    const graph = this.#graph
    if (!isSelective(graph)) return new Set()
    const waiting = new Set(failedNodes(this, { graph, renamed: graph.renamed }))
    return new Set([...this.#latest].flatMap(([name, end]) => (hasFailed(end) && !waiting.has(end) ? name : [])))
  }

  of(id: string): NodeStanding {
    const node = this.#graph.find(id)
    const isItem = node?.kind === 'item'
    return {
      id,
      node,
      row: this.#rows.get(id) ?? null,
      latest: this.#latest.get(id) ?? null,
      openParents: isItem ? [] : (node?.dependsOn ?? []).filter(parent => !this.#isDone(parent)),
      isSpared: this.#spared.has(id),
    }
  }

  openItemsOf(each: string): string[] {
    const numberOf = (name: string) => Number(name.slice(each.length + 1))
    return (this.#items.get(each) ?? []).toSorted((a, b) => numberOf(a) - numberOf(b))
  }

  /** Names with a row, or with an end that settles nothing. An item matters as long as its node waits for it. */
  unsettled(): string[] {
    const matters = (name: string) => {
      const owner = ownerOf(name)
      return owner === null || this.#rows.has(owner)
    }
    const ended = [...this.#latest.keys()].filter(name => matters(name) && !this.#isDone(name))
    return [...new Set([...this.#rows.keys(), ...ended])]
  }

  #isDone(id: string): boolean {
    const latest = this.#latest.get(id)
    return latest !== undefined && !this.#rows.has(id) && (isSatisfied(latest) || latest.outcome === 'not_taken')
  }
}
