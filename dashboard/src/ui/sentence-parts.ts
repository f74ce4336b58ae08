/** Takes a sentence from the server apart: what is a moment, a dead letter or a workflow, by the words that the engine uses for it. */

export interface SentencePart {
  readonly kind: 'text' | 'time' | 'letter' | 'workflow'
  /** The words; of a moment what a machine reads, of a letter or a workflow its id. */
  readonly text: string
}

/** Moments as sentences have them, `2026-11-15 13:00:12 UTC`, and as JSON has them. Not in the middle of a word, such as a key. */
const moment = /(?<![^\s(])(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d) UTC|T(\d\d:\d\d:\d\d(?:\.\d+)?)Z)(?![\w-])/
const letter = /(?<=requeue or discard )letter ([\w-]+)/i
const workflow = /(?<=waits for workflow |goes on as workflow )([\w-]+)/
const known = new RegExp(`${moment.source}|${letter.source}|${workflow.source}`, 'gi')

export function sentenceParts(sentence: string): SentencePart[] {
  const parts: SentencePart[] = []
  let end = 0
  for (const match of sentence.matchAll(known)) {
    const [whole, day, clock, fine, letterId, workflowId = ''] = match
    // Messages of errors are quoted in sentences, and what only looks like a moment is none.
    if (day !== undefined && Number.isNaN(Date.parse(`${day}T${clock ?? fine}Z`))) continue
    if (match.index > end) parts.push({ kind: 'text', text: sentence.slice(end, match.index) })
    end = match.index + whole.length
    if (day !== undefined) parts.push({ kind: 'time', text: `${day}T${clock ?? fine}Z` })
    else if (letterId !== undefined) parts.push({ kind: 'letter', text: letterId })
    else parts.push({ kind: 'workflow', text: workflowId })
  }
  if (end < sentence.length) parts.push({ kind: 'text', text: sentence.slice(end) })
  return parts
}
