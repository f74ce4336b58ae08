/**
 * A drawing for the terminal: a row for each box, with rails beside it that show what waits for what. A graph that is
 * too wide or too tangled for rails becomes a list of layers, in which every node names what it depends on.
 */
import { grouped, nameOf } from './box-label.ts'
import type { Box } from './fold.ts'
import { listLayers } from './list-layers.ts'
import type { Picture } from './picture.ts'
import { cutTo, printable, widthOf, wrapped } from './printable-text.ts'
import { layRails } from './rail-layout.ts'
import { type RailRow, railRows } from './rail-rows.ts'
import { countStates } from './state-look.ts'
import { textColumns } from './text-columns.ts'
import { type TextStyle, textStyle } from './text-style.ts'

export interface TextOptions {
  readonly width: number
  readonly ascii: boolean
  readonly color: boolean
  /** Without it, the counts are shown if the picture has states. */
  readonly legend?: boolean | undefined
}

/** Names need this much room; rails may take the rest. */
const leastWords = 24

/** No eye follows more rails than this, however wide the terminal. */
const mostLanes = 100

export function drawText(picture: Picture, boxes: readonly Box[], options: TextOptions): string {
  const style = textStyle(options)
  const parts = [
    picture.title === null ? [] : [style.strong(cutTo(printable(picture.title), options.width, style.ellipsis))],
    boxes.length === 0 ? ['(no nodes)'] : drawBoxes(boxes, style, options.width),
    legendOf(picture, style, options),
  ]
  return parts
    .filter(lines => lines.length > 0)
    .map(lines => lines.join('\n'))
    .join('\n\n')
}

function drawBoxes(boxes: readonly Box[], style: TextStyle, width: number): string[] {
  const longest = boxes.reduce((most, box) => Math.max(most, widthOf(nameOf(box))), 0)
  // A lane takes two columns; between the last one and the words stands one more blank.
  const lanes = Math.floor((width - 1 - Math.min(longest, leastWords)) / 2)
  const layout = layRails(boxes, Math.min(Math.max(lanes, 1), mostLanes))
  const drawn = layout && railRows(layout, style)
  // With more crossings than boxes the eye no longer finds its way.
  if (!drawn || drawn.crossings > boxes.length) return listLayers(boxes, style, width)
  const columns = textColumns(boxes, style)
  return drawn.rows.map(row => {
    if (!row.station) return style.faint(row.line.trimEnd())
    return `${railsBeside(row, style)}  ${columns.write(row.station.box, width - row.line.length - 2).text}`
  })
}

function railsBeside({ line, station }: RailRow, style: TextStyle): string {
  if (!station) return style.faint(line)
  const mark = style.paint(style.mark(station.box.state), station.box.state)
  return style.faint(line.slice(0, station.column)) + mark + style.faint(line.slice(station.column + 1))
}

/** `9 nodes: ✓ 3 completed, ✗ 1 failed, ○ 5 pending` */
function legendOf(picture: Picture, style: TextStyle, options: TextOptions): string[] {
  const counts = countStates(picture.nodes)
  const wanted = options.legend ?? counts.size > 0
  if (!wanted || picture.nodes.length === 0) return []
  const total = `${grouped(picture.nodes.length)} ${picture.nodes.length === 1 ? 'node' : 'nodes'}`
  const parts = [...counts].map(([state, count]) => `${style.mark(state)} ${grouped(count)} ${printable(state)}`)
  const words = parts.map((part, index) => (index + 1 < parts.length ? `${part},` : part))
  return wrapped([parts.length > 0 ? `${total}:` : total, ...words], options.width)
}
