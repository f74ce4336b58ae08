/**
 * Whole numbers and others in one CEL expression. CEL has two types for them and computes with one at a time; JSON has one,
 * so whether `outputs.sum.total * 2` had an answer would depend on the total. Two whole numbers are left to CEL, which
 * divides them to a whole number.
 */
import type { Environment } from '@marcbachmann/cel-js'

type Side = bigint | number

const arithmetic = {
  '+': (left: number, right: number) => left + right,
  '-': (left: number, right: number) => left - right,
  '*': (left: number, right: number) => left * right,
  '/': (left: number, right: number) => left / right,
  '%': (left: number, right: number) => left % right,
}

export function registerMixedNumbers(environment: Environment): Environment {
  for (const [operator, compute] of Object.entries(arithmetic)) {
    const handler = (left: Side, right: Side) => compute(Number(left), divisor(operator, right))
    environment.registerOperator(`int ${operator} double: double`, handler)
    environment.registerOperator(`double ${operator} int: double`, handler)
    if (operator === '%') environment.registerOperator('double % double: double', handler)
  }
  // biome-ignore lint/suspicious/noDoubleEquals: equal as numbers, whatever their types.
  return environment.registerOperator('int == double', (left: Side, right: Side) => left == right)
}

/** No rest, and no quotient by a whole zero, as between two whole numbers. Doubles divide by zero in CEL. */
function divisor(operator: string, right: Side): number {
  if (operator === '/' && right === 0n) throw new Error('division by zero')
  if (operator === '%' && Number(right) === 0) throw new Error('modulo by zero')
  return Number(right)
}

interface Part {
  readonly op: string
  readonly args: unknown
}

/** An expression whose value is a sum, a product or the like can never come to true or false. */
export function isArithmetic({ op, args }: Part): boolean {
  if (op === '?:') return (args as readonly Part[]).slice(1).every(isArithmetic)
  return Object.hasOwn(arithmetic, op)
}
