/** What may happen to a saga that is played at random, each with how often it does beside the others. */
import fc from 'fast-check'
import type { SagaMove } from './saga-runs.ts'

const which = fc.nat({ max: 30 })

export function move<K extends SagaMove['kind']>(weight: number, ...kinds: K[]) {
  const arbitrary = fc.record({ kind: fc.constantFrom(...kinds), which }) as fc.Arbitrary<SagaMove>
  return { weight, arbitrary }
}

/** A step reports; what it came to is picked from what it may come to. */
export function reports(weight: number) {
  const what = fc.array(fc.nat({ max: 100 }), { minLength: 1, maxLength: 4 })
  return { weight, arbitrary: fc.record({ kind: fc.constant('report' as const), which, what }) }
}
