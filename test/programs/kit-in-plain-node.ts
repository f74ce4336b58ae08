/**
 * Uses the test kit where there is no test runner at all, and tells its parent what it saw. With the argument `abandon`
 * it ends without closing the kit; with `hurry` it first closes others at every moment of a step's way.
 */
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { Workflow } from '../../src/index.ts'
import { testGeneva } from '../../src/testing.ts'

const globalsOfRunners = ['describe', 'it', 'test', 'expect', 'vi', 'jest', 'beforeEach', 'afterEach']

class Errand extends Workflow {
  static {
    this.step('leave')
    this.step('comeBack', { wait: '1 hour' })
  }
  async leave() {}
  async comeBack() {
    throw new Error('lost the way')
  }
}

if (process.argv[2] === 'hurry') for (let turns = 0; turns < 30; turns++) await closeAfter(turns)
const kit = await testGeneva({ workflows: [Errand] })
const wf = await kit.start(Errand)
await kit.speedrun(wf)
const failure = await kit.assertState(wf, 'finished').catch(error => error)
if (process.argv[2] !== 'abandon') await kit.close()
process.send?.({
  globals: globalsOfRunners.filter(name => name in globalThis),
  state: wf.state,
  failure: { name: failure.name, code: failure.code, cause: failure.cause?.message },
  leftFolders: readdirSync(tmpdir()).length,
})

/** Whatever is left running then keeps this process alive. */
async function closeAfter(turns: number): Promise<void> {
  const hurried = await testGeneva({ workflows: [Errand] })
  const begun = await hurried.start(Errand)
  const settled = Promise.allSettled([hurried.performNextStep(begun), hurried.geneva.startWorker()])
  for (let turn = 0; turn < turns; turn++) await null
  await hurried.close()
  await settled
}
