/**
 * Names for boxes inside the source of a drawing. Only letters, digits and `_` get in, and no word that a format keeps
 * for itself, so that nothing a user named can be read as anything but a name.
 */
import { isFolded } from './box-label.ts'
import type { Box } from './fold.ts'

/** Words of Mermaid's flow charts, in any case. DOT has fewer, and they are quoted there. */
const kept = new Set(
  'accdescr acctitle call class classdef click default direction end flowchart graph href interpolate linkstyle style subgraph v'.split(
    ' ',
  ),
)

/** Mermaid takes a line that ends in `direction` for a statement if the next begins with `TB`. */
export function isPlainName(name: string): boolean {
  return /^[A-Za-z][A-Za-z0-9_]*$/.test(name) && !isKept(name)
}

/** True for a word that may not stand unquoted. */
export function isKept(word: string): boolean {
  return kept.has(word.toLowerCase()) || /direction$/i.test(word) || word in Object.prototype
}

/** A name of its own for each box: the node's name if it is plain, else its id if that is, else `n1`, `n2` and so on. */
export function aliasesOf(boxes: readonly Box[]): Map<Box, string> {
  const aliases = new Map<Box, string>()
  const taken = new Set<string>()
  const claim = (box: Box, name: string) => {
    if (aliases.has(box) || taken.has(name) || isFolded(box) || !isPlainName(name)) return
    taken.add(name)
    aliases.set(box, name)
  }
  for (const box of boxes) claim(box, box.first.name)
  for (const box of boxes) claim(box, box.first.id)
  let number = 0
  for (const box of boxes) {
    if (aliases.has(box)) continue
    do number++
    while (taken.has(`n${number}`))
    aliases.set(box, `n${number}`)
  }
  return aliases
}
