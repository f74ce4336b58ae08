/**
 * Turns a layout of rails into rows of characters. Where a rail crosses a link that it has no part in, the rail is
 * drawn over the link: `─│─` is a crossing, `─┼─` a connection.
 */
import type { Box } from './fold.ts'
import type { RailLayout } from './rail-layout.ts'

export interface RailRow {
  /** The line characters; the place of the box holds a blank. */
  readonly line: string
  /** The box of the row, and the column of its mark. */
  readonly station: { readonly box: Box; readonly column: number } | null
}

const up = 1
const down = 2
const left = 4
const right = 8

/** By the arms that a character has. */
const unicode = '  ││ ┘┐┤ └┌├─┴┬┼'
const ascii = "  || '.+ '.+-+++"

/** One row for each box, rows of lines between them, and how often lines cross. */
export function railRows(
  layout: RailLayout,
  style: { readonly ascii: boolean },
): { readonly rows: readonly RailRow[]; readonly crossings: number } {
  let crossings = 0
  const width = layout.lanes * 2 - 1
  const rows = Array.from({ length: layout.rows }, () => new Uint8Array(Math.max(width, 0)))
  for (const { start, end, lane } of layout.rails) {
    for (let row = start; row <= end; row++) rows[row]?.fill(up | down, lane * 2, lane * 2 + 1)
  }
  for (const link of layout.links) {
    const cells = rows[link.row]
    if (cells) crossings += drawLink(cells, lanesOf(link.from), lanesOf(link.to))
  }
  const stations = new Map(layout.stations.map(({ row, rail, box }) => [row, { box, column: rail.lane * 2 }]))
  const characters = style.ascii ? ascii : unicode
  const drawn = rows.map((cells, row) => {
    const station = stations.get(row) ?? null
    if (station) cells[station.column] = 0
    return { line: Array.from(cells, arms => characters[arms]).join(''), station }
  })
  return { rows: drawn, crossings }
}

/** Returns how many rails the link crosses. */
function drawLink(cells: Uint8Array, from: ReadonlySet<number>, to: ReadonlySet<number>): number {
  let crossings = 0
  const first = Math.min(...from, ...to)
  const last = Math.max(...from, ...to)
  for (let column = first * 2; column <= last * 2; column++) {
    const lane = column / 2
    const ends = (from.has(lane) ? up : 0) | (to.has(lane) ? down : 0)
    if (ends === 0 && cells[column]) crossings++
    else cells[column] = ends | (lane > first ? left : 0) | (lane < last ? right : 0)
  }
  return crossings
}

function lanesOf(rails: readonly { readonly lane: number }[]): Set<number> {
  return new Set(rails.map(rail => rail.lane))
}
