/**
 * The work of laying rails: which rails are open, in which order from left to right, and in which row each forks,
 * merges and ends. Lanes come later, when all lives are known.
 */
import type { Box } from './fold.ts'
import type { Stop, StopLayer } from './rail-stops.ts'

/** A rail under construction. */
export interface OpenRail {
  start: number
  end: number
  lane: number
  /** The stop that it leads to; none while it still has to be forked. */
  target: Stop | null
  /** The stops that it is to be forked into. */
  fork: readonly Stop[]
  /** The rail to its right, be it open or ended. */
  next: OpenRail | null
}

interface OpenLink {
  row: number
  readonly from: readonly OpenRail[]
  readonly to: readonly OpenRail[]
}

export class RailYard {
  rows = 0
  readonly stations: { readonly row: number; readonly rail: OpenRail; readonly box: Box }[] = []
  readonly links: OpenLink[] = []
  readonly #maxOpen: number
  /** From left to right. */
  #open: OpenRail[] = []
  #leftmost: OpenRail | null = null
  #rightmost: OpenRail | null = null

  constructor(maxOpen: number) {
    this.#maxOpen = maxOpen
  }

  /** Writes the rows of links between a layer and the one above. False when there would be too many rails. */
  connect(layer: StopLayer): boolean {
    const links: OpenLink[] = []
    const pulls = pullsOf(this.#open)
    for (const [place, rail] of [...this.#open.entries()]) {
      if (rail.fork.length === 0) continue
      if (this.#open.length + rail.fork.length - 1 > this.#maxOpen) return false
      links.push(this.#link([rail], inOrder(rail.fork, place, pulls)))
    }
    const incoming = railsByTarget(this.#open)
    for (const junction of layer.junctions) {
      const from = incoming.get(junction) ?? []
      if (this.#open.length + junction.targets.length - from.length > this.#maxOpen) return false
      links.push(this.#link(from, inOrder(junction.targets, 0, new Map())))
    }
    for (const stop of layer.boxes) {
      const from = incoming.get(stop) ?? []
      if (from.length > 1) links.push(this.#link(from, [stop]))
    }
    this.#writeRows(links)
    return true
  }

  /** Writes the rows of the boxes of a layer, from left to right. False when there would be too many rails. */
  place(stops: readonly Stop[]): boolean {
    const expected = new Set(stops)
    const arrivals = this.#open.flatMap(rail => {
      const { target } = rail
      return target && expected.has(target) ? [{ rail, target }] : []
    })
    // Items before the rest: what depends on their `each` node waits for them as well.
    arrivals.sort((a, b) => Number(isItem(b.target)) - Number(isItem(a.target)))
    for (const { rail, target } of arrivals) this.#settle(rail, target)
    for (const stop of stops) {
      if (stop.box?.parents.length !== 0) continue
      if (this.#open.length >= this.#maxOpen) return false
      const rail = this.#insert(stop, this.#rightmost)
      rail.start = this.rows
      this.#settle(rail, stop)
      if (rail.end !== -1) this.#open.pop()
    }
    this.#open = this.#open.filter(rail => rail.end === -1)
    return true
  }

  /** All rails, those that have ended included. */
  railsFromTheLeft(): OpenRail[] {
    const rails: OpenRail[] = []
    for (let rail = this.#leftmost; rail; rail = rail.next) rails.push(rail)
    return rails
  }

  #settle(rail: OpenRail, { box, targets }: Stop): void {
    if (!box) return
    const above = this.stations.at(-1)
    // An edge always shows as a line: two boxes of one rail never touch.
    if (above?.rail === rail && above.row === this.rows - 1) this.rows++
    this.stations.push({ row: this.rows, rail, box })
    rail.target = targets.length === 1 ? (targets[0] ?? null) : null
    rail.fork = targets.length > 1 ? targets : []
    if (targets.length === 0) rail.end = this.rows
    this.rows++
  }

  /** Leads rails on to stops: existing rails first, from the left; more are laid to the right of them. */
  #link(from: readonly OpenRail[], targets: readonly Stop[]): OpenLink {
    const to: OpenRail[] = []
    for (const target of targets) {
      const known = from[to.length]
      if (known) Object.assign(known, { target, fork: [] })
      to.push(known ?? this.#insert(target, to.at(-1) ?? null))
    }
    return { row: 0, from, to }
  }

  #insert(target: Stop, left: OpenRail | null): OpenRail {
    const rail: OpenRail = { start: 0, end: -1, lane: 0, target, fork: [], next: left?.next ?? null }
    if (left) left.next = rail
    else this.#leftmost = rail
    if (left === this.#rightmost) {
      this.#rightmost = rail
      this.#open.push(rail)
    } else if (left) this.#open.splice(this.#open.indexOf(left) + 1, 0, rail)
    return rail
  }

  /** Gives each link the first row in which it crosses no other, and their rails their beginnings and ends. */
  #writeRows(links: readonly OpenLink[]): void {
    const place = new Map(this.#open.map((rail, index) => [rail, index]))
    const rows: { first: number; last: number }[][] = []
    for (const link of links) {
      const places = [...link.from, ...link.to].map(rail => place.get(rail) ?? 0)
      const span = { first: Math.min(...places), last: Math.max(...places) }
      const free = rows.findIndex(row => row.every(({ first, last }) => last < span.first || span.last < first))
      if (free === -1) rows.push([span])
      else rows[free]?.push(span)
      link.row = this.rows + (free === -1 ? rows.length - 1 : free)
      for (const rail of link.to) if (!link.from.includes(rail)) rail.start = link.row
      for (const rail of link.from) if (!link.to.includes(rail)) rail.end = link.row
      this.links.push(link)
    }
    this.rows += rows.length
    this.#open = this.#open.filter(rail => rail.end === -1)
  }
}

/** The places of the rails that lead to each stop, or will once they are forked. */
function pullsOf(rails: readonly OpenRail[]): Map<Stop, number[]> {
  const pulls = new Map<Stop, number[]>()
  for (const [place, rail] of rails.entries()) {
    for (const stop of rail.target ? [rail.target] : rail.fork) {
      const known = pulls.get(stop)
      if (known) known.push(place)
      else pulls.set(stop, [place])
    }
  }
  return pulls
}

function railsByTarget(rails: readonly OpenRail[]): Map<Stop, OpenRail[]> {
  const found = new Map<Stop, OpenRail[]>()
  for (const rail of rails) {
    if (!rail.target) continue
    const known = found.get(rail.target)
    if (known) known.push(rail)
    else found.set(rail.target, [rail])
  }
  return found
}

function isItem({ box }: Stop): boolean {
  return box?.first.kind === 'item'
}

/** From left to right: what other rails to the left lead to as well, then the main line, then side lines, then items. */
function inOrder(stops: readonly Stop[], place: number, pulls: ReadonlyMap<Stop, readonly number[]>): Stop[] {
  const pullOf = (stop: Stop) => {
    const others = (pulls.get(stop) ?? []).filter(other => other !== place)
    return others.length === 0 ? 0 : others.reduce((sum, other) => sum + other, 0) / others.length - place
  }
  return stops
    .map(stop => ({ stop, pull: pullOf(stop) }))
    .sort((a, b) => a.pull - b.pull || Number(isItem(a.stop)) - Number(isItem(b.stop)) || b.stop.height - a.stop.height)
    .map(({ stop }) => stop)
}
