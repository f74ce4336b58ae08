/**
 * Lays rails from stop to stop, top to bottom, one box to a row. A rail leads to one stop and keeps its lane for life.
 * Rails fork below a box and merge above one, so no line joins a box to anything that does not depend on it.
 */
import type { Box } from './fold.ts'
import { stopsOf } from './rail-stops.ts'
import { RailYard } from './rail-yard.ts'

/** A vertical line from one row to another, ends included. */
export interface Rail {
  readonly start: number
  readonly end: number
  readonly lane: number
}

/** A horizontal line: what comes down on any rail of `from` goes on down on every rail of `to`. */
export interface Link {
  readonly row: number
  readonly from: readonly Rail[]
  readonly to: readonly Rail[]
}

export interface RailLayout {
  readonly lanes: number
  readonly rows: number
  readonly stations: readonly { readonly row: number; readonly rail: Rail; readonly box: Box }[]
  readonly rails: readonly Rail[]
  readonly links: readonly Link[]
}

/** Lays out the boxes, or gives up with `null` when more than `maxLanes` lanes would be needed. */
export function layRails(boxes: readonly Box[], maxLanes: number): RailLayout | null {
  const yard = new RailYard(maxLanes)
  for (const layer of stopsOf(boxes)) {
    if (!yard.connect(layer) || !yard.place(layer.boxes)) return null
  }
  const rails = yard.railsFromTheLeft()
  const lanes = setLanes(rails, yard.rows)
  return lanes > maxLanes ? null : { lanes, rows: yard.rows, rails, stations: yard.stations, links: yard.links }
}

/** Moves every rail as far left as the rails to its left allow. Returns how many lanes there are. */
function setLanes(rails: readonly { start: number; end: number; lane: number }[], rows: number): number {
  const taken = new Int32Array(rows).fill(-1)
  let last = -1
  for (const rail of rails) {
    for (let row = rail.start; row <= rail.end; row++) rail.lane = Math.max(rail.lane, (taken[row] ?? -1) + 1)
    taken.fill(rail.lane, rail.start, rail.end + 1)
    last = Math.max(last, rail.lane)
  }
  return last + 1
}
