/**
 * A drawing as a picture of its own, in SVG: a row for each box, with rails beside it that show what waits for what, in the
 * colours of the states. It holds no script, no style sheet and no link; every name is escaped.
 */
import { detailsOf, guardWordsOf, isFolded, kindWordOf, nameOf, tallyOf } from './box-label.ts'
import type { Box } from './fold.ts'
import { cutTo, printable, widthOf } from './printable-text.ts'
import { type Link, layRails, type RailLayout } from './rail-layout.ts'
import { lookOf } from './state-look.ts'

/** A picture may be wider than a terminal, but no eye follows more rails than this. */
const mostLanes = 100
const laneWidth = 26
const stationHeight = 34
const linkHeight = 18
const margin = 20
/** Of a fixed-width font of 13 pixels: texts cannot be measured where this is drawn. */
const letterWidth = 7.9
const longestText = 90
const widestColumn = 32
const longestList = 12
const line = '#868e96'

interface Scale {
  x(lane: number): number
  /** The middle of a row. */
  y(row: number): number
}

export function drawSvg(title: string | null, boxes: readonly Box[]): string {
  const layout = layRails(boxes, mostLanes)
  const top = title === null ? margin : margin + 28
  const rows = layout ? layout.rows : boxes.length
  const scale = scaleOf(layout, rows, top)
  const textAt = scale.x(layout ? layout.lanes : 1)
  const labels = new Map(boxes.map(box => [box, wordsOf(box, layout === null)]))
  const column = columnOf([...labels.values()])
  let widest = widthOf(title ?? '')
  for (const { name, rest } of labels.values()) {
    widest = Math.max(widest, Math.max(column, widthOf(name)) + 2 + widthOf(rest))
  }
  const width = Math.ceil(textAt + widest * letterWidth + margin)
  const height = Math.ceil(scale.y(rows - 1) + stationHeight / 2 + margin)
  const heading =
    title === null
      ? []
      : [`<text x="${margin}" y="${margin + 8}" font-weight="bold">${escaped(printable(title))}</text>`]
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(printable(title ?? 'graph'))}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#212529">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...heading,
    ...(layout ? railsOf(layout, scale) : []),
    ...stationsOf(boxes, layout).map(({ box, lane, row }) => {
      const { name, rest } = labels.get(box) ?? { name: '', rest: '' }
      const restAt = textAt + (Math.max(column, widthOf(name)) + 2) * letterWidth
      return stationOf(box, { x: scale.x(lane), y: scale.y(row), textAt, restAt, name, rest })
    }),
    '</svg>',
  ].join('\n')
}

function stationsOf(boxes: readonly Box[], layout: RailLayout | null): { box: Box; lane: number; row: number }[] {
  if (layout) return layout.stations.map(({ box, rail, row }) => ({ box, lane: rail.lane, row }))
  const byLayer = boxes.toSorted((a, b) => a.layer - b.layer)
  return byLayer.map((box, row) => ({ box, lane: 0, row }))
}

/** Rows with a box are higher than rows of lines only. */
function scaleOf(layout: RailLayout | null, rows: number, top: number): Scale {
  const stations = new Set(layout?.stations.map(({ row }) => row))
  const middles: number[] = []
  let below = top
  for (let row = 0; row < rows; row++) {
    const height = layout === null || stations.has(row) ? stationHeight : linkHeight
    middles.push(below + height / 2)
    below += height
  }
  return { x: lane => margin + 10 + lane * laneWidth, y: row => middles[row] ?? top }
}

function railsOf(layout: RailLayout, { x, y }: Scale): string[] {
  const rails = layout.rails
    .filter(({ start, end }) => end > start)
    .map(({ start, end, lane }) => `M${x(lane)} ${y(start)}V${y(end)}`)
  const links = layout.links.map(link => {
    const lanes = [...link.from, ...link.to].map(({ lane }) => lane)
    return `M${x(Math.min(...lanes))} ${y(link.row)}H${x(Math.max(...lanes))}`
  })
  const stroke = `fill="none" stroke-width="2" stroke-linecap="round"`
  return [
    `<path d="${links.join('')}" stroke="${line}" ${stroke}/>`,
    ...bridgesOf(layout, { x, y }),
    `<path d="${rails.join('')}" stroke="${line}" ${stroke}/>`,
  ]
}

/** Where a rail crosses a link that it has no part in, the link goes below it. */
function bridgesOf(layout: RailLayout, { x, y }: Scale): string[] {
  const gaps = layout.links.flatMap(link =>
    layout.rails
      .filter(rail => rail.start < link.row && rail.end > link.row && isBetween(rail.lane, link))
      .map(({ lane }) => `M${x(lane)} ${y(link.row) - 5}v10`),
  )
  return gaps.length === 0 ? [] : [`<path d="${gaps.join('')}" stroke="#ffffff" stroke-width="8" fill="none"/>`]
}

function isBetween(lane: number, { from, to }: Link): boolean {
  const lanes = [...from, ...to].map(rail => rail.lane)
  return lane > Math.min(...lanes) && lane < Math.max(...lanes) && !lanes.includes(lane)
}

interface Place {
  readonly x: number
  readonly y: number
  readonly textAt: number
  readonly restAt: number
  readonly name: string
  readonly rest: string
}

function stationOf(box: Box, { x, y, textAt, restAt, name, rest }: Place): string {
  const { fill, stroke, mark, dashed } = lookOf(box.state)
  const told = box.state !== null && box.state !== 'pending'
  const outline = `fill="${fill}" stroke="${stroke}" stroke-width="2"${dashed ? ' stroke-dasharray="4 3"' : ''}`
  return [
    `<g>`,
    ...(isFolded(box) ? [`<circle cx="${x + 3}" cy="${y + 3}" r="9" ${outline}/>`] : []),
    `<circle cx="${x}" cy="${y}" r="9" ${outline}/>`,
    ...(told
      ? [`<text x="${x}" y="${y + 4}" font-size="11" text-anchor="middle" fill="${stroke}">${mark}</text>`]
      : []),
    `<text x="${textAt}" y="${y + 4}">${escaped(name)}`,
    ...(rest === '' ? [] : [`<tspan x="${restAt}" fill="#495057">${escaped(rest)}</tspan>`]),
    `</text>`,
    `</g>`,
  ].join('')
}

/** Longer names stand out of their column instead of pushing it to the right. */
function columnOf(labels: readonly { readonly name: string }[]): number {
  let widest = 0
  for (const { name } of labels) widest = Math.max(widest, Math.min(widthOf(name), widestColumn))
  return widest
}

/** The same words as in the terminal. Without rails, a box says what it depends on. */
function wordsOf(box: Box, isAlone: boolean): { name: string; rest: string } {
  const told = isFolded(box)
    ? [tallyOf(box)]
    : [...detailsOf(box), kindWordOf(box) ?? [], guardWordsOf(box) ?? []].flat()
  const parents = box.parents.slice(0, longestList).map(parent => nameOf(parent))
  const more = box.parents.length > longestList ? ', …' : ''
  const after = isAlone && parents.length > 0 ? [`after ${parents.join(', ')}${more}`] : []
  return { name: cutTo(nameOf(box), longestText, '…'), rest: cutTo([...told, ...after].join(' · '), longestText, '…') }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => entities[character] ?? '')
}
