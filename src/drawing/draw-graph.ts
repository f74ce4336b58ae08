/**
 * Draws a graph, with or without the states of a workflow that runs on it. A pure function of what it is given: it
 * reads no terminal and no database, and asks nobody whether colours are welcome.
 */
import { InvalidArgumentError } from '../errors.ts'
import { optionNames, refuseUnknownOptions } from '../primitives/refuse-unknown-options.ts'
import { drawDot } from './draw-dot.ts'
import { drawMermaid } from './draw-mermaid.ts'
import { drawSvg } from './draw-svg.ts'
import { drawText } from './draw-text.ts'
import { foldPicture } from './fold.ts'
import type { Picture } from './picture.ts'

export interface DrawOptions {
  /** `text` is for the terminal, and the default. */
  readonly format?: 'mermaid' | 'dot' | 'text' | 'svg'
  /** As many siblings that only differ in their names become one box. Default 8; `Infinity` folds nothing. */
  readonly foldAt?: number
  /** Columns of the terminal that text may fill. Default 80. */
  readonly width?: number
  /** Text without box-drawing characters. Names stay as they are. */
  readonly ascii?: boolean
  /** Text with ANSI colours. Without it the drawing says the same: every state has a mark and a word. */
  readonly color?: boolean
  /** Text that ends with the number of nodes in each state. Default: if the picture has states. */
  readonly legend?: boolean
}

const known = optionNames<DrawOptions>({ format: 0, foldAt: 0, width: 0, ascii: 0, color: 0, legend: 0 })
const leastWidth = 20

/** The drawing, without a line end behind it. Throws `InvalidArgumentError` for a picture that is no acyclic graph. */
export function drawGraph(picture: Picture, options: DrawOptions = {}): string {
  refuseUnknownOptions('draw', options, known)
  const { format = 'text', foldAt = 8, width = 80, ascii = false, color = false, legend } = options
  if (!(foldAt >= 2))
    throw new InvalidArgumentError(`foldAt is ${foldAt}: fold 2 siblings or more, or Infinity for none.`)
  if (!(width >= leastWidth))
    throw new InvalidArgumentError(`width is ${width}: a drawing needs ${leastWidth} columns.`)
  const boxes = foldPicture(picture, foldAt)
  switch (format) {
    case 'mermaid':
      return drawMermaid(boxes)
    case 'dot':
      return drawDot(picture.title, boxes)
    case 'svg':
      return drawSvg(picture.title, boxes)
    case 'text':
      return drawText(picture, boxes, { width, ascii, color, legend })
    default:
      throw new InvalidArgumentError(`There is no format ${String(format)}: use mermaid, dot, svg or text.`)
  }
}
