/**
 * What commands know of the terminal they write to: how wide it is and whether it has colours. JSON goes to standard output
 * alone; text of unknown origin is made harmless before it is shown.
 */
import { styleText } from 'node:util'
import { Help } from 'commander'
import { cutTo, padTo, printable, widthOf } from '../drawing/printable-text.ts'
import type { WorkflowState } from '../index.ts'

type Format = Exclude<Parameters<typeof styleText>[0], readonly unknown[]>

/** Of a pipe nobody knows how wide its reader is: drawings keep to this. */
const pipeWidth = 100

/** Columns; without limit where nobody looks. */
export function lineWidth(): number {
  return process.stdout.isTTY ? Math.max(20, process.stdout.columns || 80) : Number.POSITIVE_INFINITY
}

export function drawingWidth(): number {
  return Math.min(lineWidth(), process.stdout.isTTY ? 200 : pipeWidth)
}

/** Honours NO_COLOR, FORCE_COLOR and TERM. */
export function hasColors(): boolean {
  if (process.env.NO_COLOR) return false
  return process.env.FORCE_COLOR ? process.env.FORCE_COLOR !== '0' : process.stdout.isTTY && process.stdout.hasColors()
}

export function styled(format: Format, text: string): string {
  return hasColors() ? styleText(format, text, { validateStream: false }) : text
}

/** Strips what would move the cursor, ring or repaint; line ends stay. For text that is printed as it is stored. */
export function harmless(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, character =>
    character === '\t' ? '  ' : '\ufffd',
  )
}

/** Lines that are too long for a terminal, broken between words. What is drawn fits already, and stays as it is. */
export function wrapped(text: string, columns: number | undefined): string {
  if (columns === undefined) return text
  const help = new Help()
  const fits = (line: string) => line.length <= columns || line.includes('\u001b')
  return text
    .split('\n')
    .map(line => (fits(line) ? line : help.boxWrap(line, columns)))
    .join('\n')
}

/** For people. */
export function say(text: string): void {
  console.log(process.stdout.isTTY ? wrapped(text, process.stdout.columns) : text)
}

/** For programs: one document a line. Numbers that JSON does not know become text. */
export function printJson(value: unknown): void {
  console.log(JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? String(part) : part)))
}

/** For people, beside the answer: progress, warnings, what to do next. */
export function note(text: string): void {
  console.error(text)
}

const stateFormats: Readonly<Record<WorkflowState, Format>> = {
  ready: 'blue',
  performing: 'cyan',
  paused: 'yellow',
  dlq: 'red',
  rolling_back: 'magenta',
  finished: 'green',
  failed: 'red',
  canceled: 'gray',
  aborted: 'gray',
}

export function paintState(text: string, state: string): string {
  return Object.hasOwn(stateFormats, state) ? styled(stateFormats[state as WorkflowState], text) : text
}

export interface Column<Row> {
  readonly title: string
  readonly of: (row: Row) => string
  readonly paint?: (text: string, row: Row) => string
  readonly alignRight?: boolean
}

/** A table with a heading; the last column gets the room that is left. Cells of unknown origin are made printable. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width = lineWidth()): string[] {
  const cells = rows.map(row => columns.map(({ of }) => cellOf(of(row))))
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map(line => widthOf(line[index] ?? ''))),
  )
  const fit = (text: string, index: number, used: number) => {
    const isLast = index === columns.length - 1
    const room = isLast ? Math.max(8, width - used) : (widths[index] ?? 0)
    const cut = cutTo(text, room, '…')
    if (columns[index]?.alignRight) return ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(cut))) + cut
    return isLast ? cut : padTo(cut, widths[index] ?? 0)
  }
  const lineOf = (texts: readonly string[], paint: (text: string, index: number) => string) => {
    let used = 0
    const parts = texts.map((text, index) => {
      const fitted = fit(text, index, used)
      used += widthOf(fitted) + 2
      return paint(fitted, index)
    })
    return parts.join('  ').trimEnd()
  }
  const heading = lineOf(
    columns.map(({ title }) => title),
    text => styled('dim', text),
  )
  return [
    heading,
    ...rows.map((row, at) => lineOf(cells[at] ?? [], (text, index) => columns[index]?.paint?.(text, row) ?? text)),
  ]
}

function cellOf(text: string): string {
  return text === '' ? '' : printable(text)
}
