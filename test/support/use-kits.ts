/** Test kits of a test file: closed after the test that has opened them. */
import { afterEach } from 'vitest'
import { type TestGenevaOptions, type TestKit, testGeneva } from '../../src/testing.ts'

export function useKits(): (options: TestGenevaOptions) => Promise<TestKit> {
  const kits: TestKit[] = []
  afterEach(async () => {
    await Promise.all(kits.splice(0).map(kit => kit.close()))
  })
  return async options => {
    const kit = await testGeneva(options)
    kits.push(kit)
    return kit
  }
}
