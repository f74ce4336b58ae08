/**
 * A drawing as a Mermaid flow chart, one edge per line. A name that is not plain is quoted, and whatever Mermaid,
 * Markdown or HTML could take for more than text in it is written as the number of its character.
 */
import type { NodeKind } from '../definition/graph.ts'
import { aliasesOf, isKept } from './aliases.ts'
import { captionOf, edgeWordOf } from './box-label.ts'
import type { Box } from './fold.ts'
import { isStateWord, lookOf } from './state-look.ts'

/** The brackets that give a node its shape. */
const shapes: Readonly<Record<NodeKind, readonly [string, string]>> = {
  step: ['[', ']'],
  resumable: ['([', '])'],
  each: ['{{', '}}'],
  item: ['(', ')'],
  child: ['[[', ']]'],
  condition: ['{', '}'],
  fork: ['[/', '\\]'],
  join: ['[\\', '/]'],
  savePoint: ['[(', ')]'],
  human: ['[/', '/]'],
  signal: ['>', ']'],
}

export function drawMermaid(boxes: readonly Box[]): string {
  const aliases = aliasesOf(boxes)
  const told = new Set<Box>()
  const mention = (box: Box) => {
    const alias = aliases.get(box) ?? ''
    if (told.has(box)) return alias
    told.add(box)
    return alias + shapeOf(box, alias)
  }
  const lines = ['graph TD']
  for (const box of boxes) {
    if (box.parents.length === 0 && box.children.length === 0) lines.push(`    ${mention(box)}`)
    for (const parent of box.parents) lines.push(`    ${mention(parent)} ${arrow(parent, box)} ${mention(box)}`)
  }
  return [...lines, ...classLines(boxes, aliases)].join('\n')
}

function arrow(parent: Box, box: Box): string {
  const word = edgeWordOf(parent, box)
  return word === null ? '-->' : `-->|${word}|`
}

/** The label in the brackets of its kind; nothing for a step whose alias says it all. */
function shapeOf(box: Box, alias: string): string {
  const { mark, words } = captionOf(box)
  const label = mark + escaped(words.join(' · '))
  if (box.first.kind === 'step' && label === alias) return ''
  if (box.first.kind === 'step' && isPlainPair(label)) return `[${label}]`
  const [open, close] = shapes[box.first.kind]
  return `${open}"${label}"${close}`
}

/** A letter and what it stands for, as in `A: validate`, is legible without quotes. */
function isPlainPair(label: string): boolean {
  return /^[A-Za-z]\w*: [A-Za-z]\w*$/.test(label) && !label.split(': ').some(isKept)
}

/**
 * Letters and digits stay as they are, and so does punctuation where it cannot open emphasis, a list, a link or a style.
 * `direction` before a space would make the whole line a statement, even inside quotes.
 */
const meaningful =
  /[^\p{L}\p{N}\p{M} _,.:()/…·-]|(?<![\p{L}\p{N}_])_|(?<![\p{L}\p{N}])-|-(?![\p{L}\p{N}])|:(?! )|(?<=^\d+)[.)]|(?<=www)\.|(?<=direction) /giu

function escaped(text: string): string {
  return text.replace(meaningful, character => `#${character.codePointAt(0)};`)
}

/** The colours of the states that occur, and which node has which. */
function classLines(boxes: readonly Box[], aliases: ReadonlyMap<Box, string>): string[] {
  const members = new Map<string, string[]>()
  for (const box of boxes) {
    if (box.state === null || !isStateWord(box.state)) continue
    const known = members.get(box.state)
    if (known) known.push(aliases.get(box) ?? '')
    else members.set(box.state, [aliases.get(box) ?? ''])
  }
  return [...members].flatMap(([state, names]) => [
    `    classDef ${state} ${styleOf(state)}`,
    `    class ${names.join(',')} ${state}`,
  ])
}

function styleOf(state: string): string {
  const { fill, stroke, dashed } = lookOf(state)
  return `fill:${fill},stroke:${stroke},color:#212529${dashed ? ',stroke-dasharray:4 3' : ''}`
}
