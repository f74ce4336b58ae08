/** The walking skeleton: a linear workflow from start to finish, through the real store, engine and worker. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'

const calls: string[] = []

class Greeting extends Workflow<null, { name: string }> {
  static {
    this.step('hello')
    this.step('ask', { wait: '20ms' })
    this.inline('goodbye', async wf => `bye ${wf.input.name}`)
  }
  async hello() {
    calls.push(`hello ${this.input.name}`)
    return { greeted: this.input.name, at: new Date(0), big: 12345678901234567890n }
  }
  async ask() {
    const { greeted } = await this.output(this.hello)
    calls.push(`ask ${greeted}`)
  }
}

forEachDatabase('a linear workflow', database => {
  let geneva: Geneva
  beforeAll(async () => {
    const { url } = await database.isolated()
    geneva = new Geneva({ database: url, workflows: [Greeting] })
  })
  afterAll(() => geneva.close())

  it('runs its steps in order, waits in between, and returns the output of the last one', async () => {
    calls.length = 0
    const worker = await geneva.startWorker()
    const wf = await geneva.start(Greeting, { input: { name: 'Ann' } })
    expect(wf.state).toBe('ready')
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('bye Ann')
    expect(calls).toEqual(['hello Ann', 'ask Ann'])
    expect(await wf.output('hello')).toEqual({ greeted: 'Ann', at: new Date(0), big: 12345678901234567890n })
    const history = await wf.history()
    expect(history.map(e => [e.step, e.state, e.outcome, e.attempt])).toEqual([
      ['hello', 'completed', 'success', 1],
      ['ask', 'completed', 'success', 1],
      ['goodbye', 'completed', 'success', 1],
    ])
    const types = (await wf.events()).map(e => e.type)
    // The first step begins with the workflow where the worker has room for it.
    expect(types[1] === 'step.scheduled' ? types.toSpliced(1, 1) : types).toEqual([
      'workflow.started',
      'step.started',
      'step.completed',
      'step.scheduled',
      'step.started',
      'step.completed',
      'step.started',
      'step.completed',
      'workflow.finished',
    ])
    await worker.stop()
  })
})
