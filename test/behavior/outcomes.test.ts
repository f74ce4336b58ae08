/** Every way in which a step can end, with what becomes of the execution, of its workflow, and of the error. */
import { expect, it } from 'vitest'
import { type Execution, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

class CardDeclined extends Error {}

class Succeeds extends Workflow {
  static {
    this.step('only')
  }
  only() {}
}

class Reattempts extends Workflow {
  static {
    this.step('only')
  }
  only() {
    if (this.execution.attempt === 1) this.reattempt()
  }
}

class SkippedByCondition extends Workflow {
  static {
    this.step('only', { skipIf: true })
    this.step('after')
  }
  only() {}
  after() {}
}

class SkipsItself extends Workflow {
  static {
    this.step('only')
    this.step('after')
  }
  only() {
    this.skip('nothing to do')
  }
  after() {}
}

class CancelsItself extends Workflow {
  static {
    this.step('only')
    this.step('after')
  }
  only() {
    this.cancel('no longer wanted')
  }
  after() {}
}

class CanceledByCondition extends Workflow {
  static {
    this.cancelIf(true)
    this.step('only')
  }
  only() {}
}

class PausesOnException extends Workflow {
  static {
    this.step('only')
    this.step('after')
  }
  only() {
    throw new CardDeclined('declined by the bank')
  }
  after() {}
}

class CancelsOnException extends Workflow {
  static {
    this.step('only', { onException: 'cancel' })
    this.step('after')
  }
  only() {
    throw new CardDeclined('declined by the bank')
  }
  after() {}
}

class SkipsOnException extends Workflow {
  static {
    this.step('only', { onException: 'skip' })
    this.step('after')
  }
  only() {
    throw new CardDeclined('declined by the bank')
  }
  after() {}
}

class ReattemptsOnException extends Workflow {
  static {
    this.step('only', { onException: 'reattempt' })
  }
  only() {
    if (this.execution.attempt === 1) throw new CardDeclined('declined by the bank')
  }
}

const workflows = [
  Succeeds,
  Reattempts,
  SkippedByCondition,
  SkipsItself,
  CancelsItself,
  CanceledByCondition,
  PausesOnException,
  CancelsOnException,
  SkipsOnException,
  ReattemptsOnException,
]

function summary(history: readonly Execution[]) {
  return history.map(execution => [execution.step, execution.attempt, execution.state, execution.outcome])
}

forEachDatabase('an outcome', database => {
  const under = useGeneva(database, { workflows, worker: true })

  async function settled(workflow: (typeof workflows)[number]): Promise<[WorkflowHandle, Execution[]]> {
    const wf = await under.geneva.start(workflow as typeof Succeeds)
    await waitFor(async () => ['finished', 'canceled', 'paused'].includes((await wf.refresh()).state))
    return [wf, await wf.history()]
  }

  function expectErrorKept(execution: Execution | undefined) {
    expect(execution?.error?.className).toBe('CardDeclined')
    expect(execution?.error?.message).toBe('declined by the bank')
    expect(execution?.error?.stack).toContain('outcomes.test.ts')
  }

  it('is success when the body returns', async () => {
    const [wf, history] = await settled(Succeeds)
    expect(summary(history)).toEqual([['only', 1, 'completed', 'success']])
    expect(wf.state).toBe('finished')
    expect(history[0]?.error).toBeNull()
    expect(history[0]?.startedAt).toBeInstanceOf(Date)
    expect(history[0]?.endedAt).toBeInstanceOf(Date)
    expect(wf.finishedAt).toBeInstanceOf(Date)
    expect(wf.canceledAt).toBeNull()
  })

  it('is reattempted when the step asks for another attempt, which is an execution of its own', async () => {
    const [wf, history] = await settled(Reattempts)
    expect(summary(history)).toEqual([
      ['only', 1, 'completed', 'reattempted'],
      ['only', 2, 'completed', 'success'],
    ])
    expect(wf.state).toBe('finished')
    expect(history[0]?.id).not.toBe(history[1]?.id)
  })

  it('is skipped_by_condition when skipIf is true, and the next step runs', async () => {
    const [wf, history] = await settled(SkippedByCondition)
    expect(summary(history)).toEqual([
      ['only', 1, 'skipped', 'skipped_by_condition'],
      ['after', 1, 'completed', 'success'],
    ])
    expect(wf.state).toBe('finished')
  })

  it('is skipped_by_flow_control when the step skips itself, and the next step runs', async () => {
    const [wf, history] = await settled(SkipsItself)
    expect(summary(history)).toEqual([
      ['only', 1, 'skipped', 'skipped_by_flow_control'],
      ['after', 1, 'completed', 'success'],
    ])
    expect(history[0]?.reason).toBe('nothing to do')
    expect(wf.state).toBe('finished')
  })

  it('is canceled_by_flow_control when the step cancels the workflow, and nothing follows', async () => {
    const [wf, history] = await settled(CancelsItself)
    expect(summary(history)).toEqual([['only', 1, 'canceled', 'canceled_by_flow_control']])
    expect(history[0]?.reason).toBe('no longer wanted')
    expect(wf.state).toBe('canceled')
    expect(wf.canceledAt).toBeInstanceOf(Date)
    expect(await wf.currentExecutions()).toEqual([])
  })

  it('is canceled_by_condition when cancelIf is true, and the body does not run', async () => {
    const [wf, history] = await settled(CanceledByCondition)
    expect(summary(history)).toEqual([['only', 1, 'canceled', 'canceled_by_condition']])
    expect(wf.state).toBe('canceled')
  })

  it('is paused_by_exception when the body throws and nobody said what to do', async () => {
    const [wf, history] = await settled(PausesOnException)
    expect(summary(history)).toEqual([['only', 1, 'failed', 'paused_by_exception']])
    expectErrorKept(history[0])
    expect(wf.state).toBe('paused')
    expect(wf.pausedAt).toBeInstanceOf(Date)
    expect(await wf.currentExecutions()).toEqual([])
  })

  it('is canceled_by_exception under the policy cancel', async () => {
    const [wf, history] = await settled(CancelsOnException)
    expect(summary(history)).toEqual([['only', 1, 'failed', 'canceled_by_exception']])
    expectErrorKept(history[0])
    expect(wf.state).toBe('canceled')
  })

  it('is skipped_by_exception under the policy skip, with the error kept, and the next step runs', async () => {
    const [wf, history] = await settled(SkipsOnException)
    expect(summary(history)).toEqual([
      ['only', 1, 'skipped', 'skipped_by_exception'],
      ['after', 1, 'completed', 'success'],
    ])
    expectErrorKept(history[0])
    expect(wf.state).toBe('finished')
  })

  it('is reattempted_by_exception under the policy reattempt, with the error kept', async () => {
    const [wf, history] = await settled(ReattemptsOnException)
    expect(summary(history)).toEqual([
      ['only', 1, 'failed', 'reattempted_by_exception'],
      ['only', 2, 'completed', 'success'],
    ])
    expectErrorKept(history[0])
    expect(history[1]?.error).toBeNull()
    expect(wf.state).toBe('finished')
  })

  it('of every error is told to onError once it is recorded', () => {
    const told = under.errors.map(({ error, context }) => [(error as Error).message, context?.workflow, context?.step])
    expect(told).toEqual([
      ['declined by the bank', 'PausesOnException', 'only'],
      ['declined by the bank', 'CancelsOnException', 'only'],
      ['declined by the bank', 'SkipsOnException', 'only'],
      ['declined by the bank', 'ReattemptsOnException', 'only'],
    ])
  })
})
