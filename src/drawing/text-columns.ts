/** The words beside a mark in the terminal: name and details in two columns, cut to the room that there is. */
import { detailsOf, guardWordsOf, isFolded, kindWordOf, nameOf, tallyOf } from './box-label.ts'
import type { Box } from './fold.ts'
import { cutTo, padTo, widthOf } from './printable-text.ts'
import type { TextStyle } from './text-style.ts'

/** Longer names stand out of their column instead of pushing it to the right. */
const widestColumn = 32
const gap = '  '

export interface TextColumns {
  /** What both columns take up when nothing is longer than they are wide. */
  readonly width: number
  /** The words for a box, of at most `room` columns, and how many they take up. */
  write(box: Box, room: number): { readonly text: string; readonly width: number }
}

export function textColumns(boxes: readonly Box[], style: TextStyle): TextColumns {
  const single = boxes.filter(box => !isFolded(box))
  const names = widest(single.map(box => nameOf(box)))
  const details = widest(single.map(box => restOf(box, style)))
  return {
    width: names + (details > 0 ? gap.length + details : 0),
    write: (box, room) => {
      const first = cutTo(nameOf(box, style.ellipsis), room, style.ellipsis)
      const padded = isFolded(box) ? `${first} ` : padTo(first, names) + gap
      const second = cutTo(restOf(box, style), room - widthOf(padded), style.ellipsis)
      const plain = second === '' ? first : padded + second
      const state = isFolded(box) ? null : box.state
      return { text: second === '' ? first : padded + style.paint(second, state), width: widthOf(plain) }
    },
  }
}

function restOf(box: Box, style: TextStyle): string {
  return isFolded(box)
    ? tallyOf(box)
    : [...detailsOf(box), kindWordOf(box) ?? [], guardWordsOf(box) ?? []].flat().join(style.separator)
}

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, Math.min(widthOf(text), widestColumn)), 0)
}
