/**
 * The order in which test files run: those that start processes and wait for them begin first, the rest by size. So no
 * worker is left alone with a long file at the end, on a machine that has no record of earlier runs either.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const slow = /\/test\/(crash|simulation|cli|bench|docs|browser)\/|\/examples\.test\.ts$/

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isSlow = ({ moduleId }: TestSpecification) => slow.test(moduleId)
    return [...sorted.filter(isSlow), ...sorted.filter(file => !isSlow(file))]
  }
}
