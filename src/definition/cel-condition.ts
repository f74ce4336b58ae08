/** Conditions in CEL, the Common Expression Language: `outputs.aggregate.total > 100`. */
import { InvalidGraphError } from '../errors.ts'
import type { ConditionFacts } from './condition-facts.ts'

/** Throws `InvalidGraphError`, with the place in the text. */
export function checkCel(text: string): void {
  throw new InvalidGraphError(
    `The condition ${JSON.stringify(text.slice(0, 80))} is no template. Write one, like {{ gt .total 100 }}.`,
  )
}

export function answerCel(text: string, _facts: ConditionFacts): boolean {
  checkCel(text)
  return false
}

/** The names of the nodes whose outputs are asked for; `null` when that cannot be told from the text. */
export function outputsInCel(_text: string): ReadonlySet<string> | null {
  return new Set()
}
