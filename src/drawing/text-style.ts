/** The characters and colours of a drawing for the terminal: box-drawing or plain ASCII, with ANSI colours or none. */
import { lookOf } from './state-look.ts'

export interface TextStyle {
  readonly ascii: boolean
  readonly ellipsis: string
  readonly separator: string
  /** Stands before the names of what a node depends on. */
  readonly arrow: string
  mark(state: string | null): string
  /** In the colour of a state. */
  paint(text: string, state: string | null): string
  /** For lines that should step back behind the words. */
  faint(text: string): string
  strong(text: string): string
}

export function textStyle(options: { readonly ascii: boolean; readonly color: boolean }): TextStyle {
  const { ascii, color } = options
  const paint = (text: string, ansi: string) => (color && text.trim() !== '' ? `\x1b[${ansi}m${text}\x1b[0m` : text)
  return {
    ascii,
    ellipsis: ascii ? '...' : '…',
    separator: ascii ? ', ' : ' · ',
    arrow: ascii ? '<-' : '←',
    mark: state => (ascii ? lookOf(state).asciiMark : lookOf(state).mark),
    paint: (text, state) => (state === null ? text : paint(text, lookOf(state).ansi)),
    faint: text => paint(text, '2'),
    strong: text => paint(text, '1'),
  }
}
