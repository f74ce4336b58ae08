/**
 * Conditions of stored graphs: text that is checked when a graph is built or imported and answered when the node falls
 * due. Two languages are understood: CEL, and the template form `{{ gt .amount 100 }}`. Nothing of either is ever run as
 * code, and both come to an end.
 */
import { InvalidGraphError } from '../errors.ts'
import { tagKey } from '../primitives/tagged-types.ts'
import { answerCel, asksCelForArgs, checkCel, outputsInCel } from './cel-condition.ts'
import type { ConditionFacts } from './condition-facts.ts'
import { answerTemplate, checkTemplate, fieldsInTemplate } from './template-condition.ts'

const maxLength = 2000

/** Throws `InvalidGraphError`, with the place in the text. */
export function checkCondition(text: string): void {
  if (typeof text !== 'string' || text.trim() === '') {
    throw new InvalidGraphError('A condition is a text, like "outputs.sum.total > 100" or "{{ gt .total 100 }}".')
  }
  if (text.length > maxLength) {
    throw new InvalidGraphError(`A condition of ${text.length} characters is too long: up to ${maxLength} are read.`)
  }
  if (isTemplate(text)) checkTemplate(text)
  else checkCel(text)
}

/** Throws `InvalidGraphError` where there is no answer: for a text that is none, and for values that cannot be compared. */
export function evaluateCondition(text: string, facts: ConditionFacts): boolean {
  checkCondition(text)
  return isTemplate(text) ? answerTemplate(text, facts) : answerCel(text, facts)
}

/** The names of the nodes whose outputs the answer depends on; `null` when that cannot be told from the text. */
export function outputsIn(text: string): ReadonlySet<string> | null {
  return isTemplate(text) ? new Set() : outputsInCel(text)
}

/** Whether the answer may depend on the arguments, which are given as they are stored. */
export function asksForArgs(text: string, args: unknown): boolean {
  if (typeof args !== 'object' || args === null) return false
  // All of them may be the output of another node, whose fields are not known before it is read.
  return isTemplate(text)
    ? tagKey in args || fieldsInTemplate(text).some(field => Object.hasOwn(args, field))
    : asksCelForArgs(text)
}

function isTemplate(text: string): boolean {
  return text.trimStart().startsWith('{{')
}
