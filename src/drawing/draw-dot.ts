/** A drawing in the DOT language of Graphviz. Names are quoted and escaped; a backslash or an entity is shown as it is. */
import type { NodeKind } from '../definition/graph.ts'
import { aliasesOf } from './aliases.ts'
import { captionOf, edgeWordOf, isFolded } from './box-label.ts'
import type { Box } from './fold.ts'
import { printable } from './printable-text.ts'
import { lookOf } from './state-look.ts'

type Attributes = Readonly<Record<string, string>>

/** On top of the defaults, which are those of a step. */
const shapes: Readonly<Record<NodeKind, Attributes>> = {
  step: {},
  resumable: { style: 'rounded,filled' },
  each: { shape: 'hexagon' },
  item: { shape: 'ellipse' },
  child: { shape: 'folder' },
  condition: { shape: 'diamond' },
  fork: { shape: 'triangle' },
  join: { shape: 'invtriangle' },
  savePoint: { shape: 'cylinder' },
  human: { shape: 'house' },
  signal: { shape: 'cds' },
}

export function drawDot(title: string | null, boxes: readonly Box[]): string {
  const aliases = aliasesOf(boxes)
  const idOf = (box: Box) => quoted(aliases.get(box) ?? '')
  const titled = title === null ? '' : ` label=${quoted(escaped(printable(title)))} labelloc=t`
  return [
    'digraph {',
    `  graph [rankdir=TB${titled}]`,
    '  node [shape=box style=filled fillcolor="#ffffff" color="#495057" fontcolor="#212529"]',
    ...boxes.map(box => `  ${idOf(box)}${attributesOf(box, aliases.get(box) ?? '')}`),
    ...boxes.flatMap(box => box.parents.map(parent => `  ${idOf(parent)} -> ${idOf(box)}${edgeLabel(parent, box)}`)),
    '}',
  ].join('\n')
}

function edgeLabel(parent: Box, box: Box): string {
  const word = edgeWordOf(parent, box)
  return word === null ? '' : ` [label=${quoted(word)}]`
}

function attributesOf(box: Box, alias: string): string {
  const { mark, words } = captionOf(box)
  const [name = '', ...details] = words.map(escaped)
  const label = [mark + name, details.join(', ')].filter(line => line !== '').join('\\n')
  const attributes: Attributes = {
    ...(label === alias ? {} : { label }),
    ...shapes[box.first.kind],
    ...(isFolded(box) ? { peripheries: '2' } : {}),
    ...coloursOf(box),
  }
  const pairs = Object.entries(attributes).map(([key, value]) => `${key}=${quoted(value)}`)
  return pairs.length === 0 ? '' : ` [${pairs.join(' ')}]`
}

function coloursOf(box: Box): Attributes {
  if (box.state === null) return {}
  const { fill, stroke, dashed } = lookOf(box.state)
  return { fillcolor: fill, color: stroke, ...(dashed ? { style: 'dashed,filled' } : {}) }
}

/** A label is searched for backslashes and for HTML entities, also inside quotes. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replace(/&(?=#?\w+;)/g, '&amp;')
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '\\"')}"`
}
