/** The graph as a list: layer by layer, so that parents stand above children, each node with what it depends on. */
import { nameOf } from './box-label.ts'
import type { Box } from './fold.ts'
import { widthOf, wrapped } from './printable-text.ts'
import { textColumns } from './text-columns.ts'
import type { TextStyle } from './text-style.ts'

/** Names that follow an arrow need this much room to be worth a place on the same line. */
const leastRoom = 24

/** One line per box, and more where its dependencies do not fit. */
export function listLayers(boxes: readonly Box[], style: TextStyle, width: number): string[] {
  const layers: Box[][] = []
  for (const box of boxes) {
    for (let count = layers.length; count <= box.layer; count++) layers.push([])
    layers[box.layer]?.push(box)
  }
  const numberWidth = String(layers.length).length
  const columns = textColumns(boxes, style)
  return layers.flatMap((layer, index) =>
    layer.flatMap((box, place) => {
      const number = (place === 0 ? String(index + 1) : '').padStart(numberWidth)
      const indent = numberWidth + 4
      const words = columns.write(box, width - indent)
      const head = `${style.faint(number)}  ${style.paint(style.mark(box.state), box.state)} ${words.text}`
      if (box.parents.length === 0) return [head]
      const aligned = indent + Math.max(columns.width, words.width) + 2
      const column = width - aligned < leastRoom ? indent : aligned
      const [first = '', ...others] = dependencies(box, style, width - column)
      const blank = ' '.repeat(column)
      if (column === indent) return [head, ...[first, ...others].map(line => blank + line)]
      return [head + ' '.repeat(column - indent - words.width) + first, ...others.map(line => blank + line)]
    }),
  )
}

/** `← a, b`, broken after commas, the lines below the first indented under its names. */
function dependencies(box: Box, style: TextStyle, width: number): string[] {
  const indent = widthOf(style.arrow) + 1
  const names = box.parents.map(
    (parent, index) => nameOf(parent, style.ellipsis) + (index + 1 < box.parents.length ? ',' : ''),
  )
  return wrapped(names, width - indent).map((line, index) =>
    style.faint(index === 0 ? `${style.arrow} ${line}` : ' '.repeat(indent) + line),
  )
}
