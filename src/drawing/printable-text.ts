/**
 * Makes text of unknown origin fit for a terminal and for a page: no control characters, no line ends, nothing that
 * turns the direction of writing. Also measures and cuts it by the columns that it takes up.
 */

/** Format characters turn or hide what follows; only the two joiners belong to ordinary words and emoji. */
const unprintable = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Cn}]/gu
const zeroWidth = /^[\p{Mn}\p{Me}\u200c\u200d]+$/u
const emoji = /\p{Emoji_Presentation}|\ufe0f/u
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{20000}-\u{3fffd}]/u
const plain = /^[\x20-\x7e]*$/

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** One line of text; what cannot be shown becomes `�`, and text with nothing to show is one `�`. */
export function printable(text: string): string {
  if (plain.test(text) && !text.includes('  ') && text !== '') return text.trim() === '' ? '�' : text.trim()
  const line = text.replace(/\s+/gu, ' ').replace(unprintable, '�').trim()
  return line === '' ? '�' : line
}

/** Columns of a terminal; characters of ambiguous width count as one. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += widthOfCharacter(segment)
  return width
}

/** The text, or as much of its start as leaves room for the ellipsis. */
export function cutTo(text: string, width: number, ellipsis: string): string {
  if (widthOf(text) <= width) return text
  const room = width - widthOf(ellipsis)
  let kept = ''
  let used = 0
  for (const { segment } of segmenter.segment(text)) {
    used += widthOfCharacter(segment)
    if (used > room) break
    kept += segment
  }
  return room < 0 ? ellipsis.slice(0, Math.max(width, 0)) : kept.trimEnd() + ellipsis
}

export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(width - widthOf(text), 0))
}

/** Words in lines of at most `width` columns; a word that is longer has a line of its own. */
export function wrapped(words: readonly string[], width: number): string[] {
  const lines: string[] = []
  let used = 0
  for (const word of words) {
    const more = widthOf(word) + 1
    if (lines.length > 0 && used + more <= width) {
      lines.push(`${lines.pop()} ${word}`)
      used += more
    } else {
      lines.push(word)
      used = more - 1
    }
  }
  return lines
}

function widthOfCharacter(segment: string): number {
  if (zeroWidth.test(segment)) return 0
  return emoji.test(segment) || wide.test(segment) ? 2 : 1
}
