/** When checkpoints are written: never two at once, nothing left behind, and what goes wrong is told. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ResumableSettings } from '../../../../src/definition/workflow-definition.ts'
import { Checkpointer } from '../../../../src/engine/iteration/checkpointer.ts'
import { noProgress, type Progress } from '../../../../src/store/records.ts'
import { type Gate, gate, waitFor } from '../../../support/wait-for.ts'
import { MemoryHost } from './step-run.ts'

/** A host whose writes end when the test says so. */
class SlowHost extends MemoryHost {
  readonly open: Gate<boolean>[] = []
  most = 0
  #underWay = 0

  override async write(progress: Progress): Promise<boolean> {
    this.writes.push(progress)
    this.most = Math.max(this.most, ++this.#underWay)
    const answer = gate<boolean>()
    this.open.push(answer)
    const mine = await answer.passed
    this.#underWay--
    return mine
  }

  /** Ends the nth write. */
  async answer(nth: number, mine = true): Promise<void> {
    const write = await waitFor(() => this.open[nth])
    write.open(mine)
  }
}

function checkpointer(host: MemoryHost, mode: ResumableSettings['checkpoint']) {
  const checkpoints = new Checkpointer(host, mode)
  let done = 0
  return {
    checkpoints,
    /** One more item is done. */
    next: () => {
      done++
      checkpoints.note({ cursor: `${done}`, completedIterations: done })
      return checkpoints.settle()
    },
  }
}

const cursors = (host: MemoryHost) => host.writes.map(write => Number(write.cursor))

describe('after each item', () => {
  it('the checkpoint is durable before the next item', async () => {
    const host = new SlowHost()
    const { next } = checkpointer(host, 'each')
    let passed = false
    const settled = next().then(() => {
      passed = true
    })
    await waitFor(() => host.open[0])
    await nextTurn()
    expect(passed).toBe(false)
    await host.answer(0)
    await settled
    expect(cursors(host)).toEqual([1])
  })

  it('nothing is written where nothing has moved', async () => {
    const host = new MemoryHost()
    const { checkpoints } = checkpointer(host, 'each')
    await checkpoints.settle()
    await checkpoints.flush()
    expect(host.writes).toEqual([])
  })
})

describe('by default', () => {
  it('the loop goes on while a checkpoint is written, and there is never more than one under way', async () => {
    const host = new SlowHost()
    const { checkpoints, next } = checkpointer(host, 'coalesced')
    await next()
    await waitFor(() => host.open[0])
    for (let i = 0; i < 5; i++) await next()
    expect(cursors(host)).toEqual([1])
    await host.answer(0)
    await host.answer(1)
    await checkpoints.idle()
    expect(cursors(host)).toEqual([1, 6])
    expect(host.most).toBe(1)
  })

  it('what was noted during a write is written next, also when the next item takes long', async () => {
    const host = new SlowHost()
    const { next } = checkpointer(host, 'coalesced')
    await next()
    await waitFor(() => host.open[0])
    await next()
    await host.answer(0)
    await waitFor(() => host.writes.length === 2)
    expect(cursors(host)).toEqual([1, 2])
    await host.answer(1)
  })

  it('all that a loop does in one turn is one write', async () => {
    const host = new MemoryHost()
    const { checkpoints, next } = checkpointer(host, 'coalesced')
    for (let i = 0; i < 1000; i++) await next()
    await checkpoints.flush()
    expect(cursors(host)).toEqual([1000])
  })

  it('everything is durable after a flush', async () => {
    const host = new SlowHost()
    const { checkpoints, next } = checkpointer(host, 'coalesced')
    await next()
    await waitFor(() => host.open[0])
    await next()
    const flushed = checkpoints.flush()
    await host.answer(0)
    await host.answer(1)
    await flushed
    expect(cursors(host)).toEqual([1, 2])
  })

  it('no write comes after the end, and one that is under way is waited for', async () => {
    const host = new SlowHost()
    const { checkpoints, next } = checkpointer(host, 'coalesced')
    await next()
    await waitFor(() => host.open[0])
    await next()
    const ended = checkpoints.end()
    await host.answer(0)
    await ended
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    expect(cursors(host)).toEqual([1])
    expect(checkpoints.progress.cursor).toBe('2')
  })
})

describe('after so many items', () => {
  it('a checkpoint is durable, and none is written in between', async () => {
    const host = new MemoryHost()
    const { checkpoints, next } = checkpointer(host, { items: 100, timeMs: null })
    checkpoints.note({ total: 1000 })
    for (let i = 0; i < 250; i++) await next()
    await checkpoints.end()
    expect(cursors(host)).toEqual([100, 200])
    expect(host.writes[0]).toEqual({ ...noProgress, cursor: '100', completedIterations: 100, total: 1000 })
  })
})

describe('after so much time', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('a checkpoint is written, also when no other item has come', async () => {
    const host = new MemoryHost()
    const { checkpoints, next } = checkpointer(host, { items: null, timeMs: 1000 })
    await next()
    await vi.advanceTimersByTimeAsync(999)
    expect(cursors(host)).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(cursors(host)).toEqual([1])
    await next()
    await next()
    await vi.advanceTimersByTimeAsync(1000)
    expect(cursors(host)).toEqual([1, 3])
    await next()
    await checkpoints.end()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('no checkpoint comes in between once it is told to be idle, and the next item makes up for it', async () => {
    const host = new MemoryHost()
    const { checkpoints, next } = checkpointer(host, { items: null, timeMs: 1000 })
    await next()
    await checkpoints.idle()
    await vi.advanceTimersByTimeAsync(5000)
    expect(cursors(host)).toEqual([])
    await next()
    expect(cursors(host)).toEqual([2])
  })

  it('or so many items a checkpoint is written, whichever comes first', async () => {
    const host = new MemoryHost()
    const { checkpoints, next } = checkpointer(host, { items: 2, timeMs: 60_000 })
    for (let i = 0; i < 5; i++) await next()
    expect(cursors(host)).toEqual([2, 4])
    const soon = new MemoryHost()
    const quick = checkpointer(soon, { items: 1000, timeMs: 1 })
    await vi.advanceTimersByTimeAsync(5)
    await quick.next()
    expect(cursors(soon)).toEqual([1])
    await Promise.all([checkpoints.end(), quick.checkpoints.end()])
  })
})

describe('a write that goes wrong', () => {
  class BrokenHost extends MemoryHost {
    override async write(): Promise<boolean> {
      throw new Error('disk full')
    }
  }

  it.each(['each', 'coalesced', { items: 1, timeMs: null }] as const)('is told to the step (%j)', async mode => {
    const { checkpoints, next } = checkpointer(new BrokenHost(), mode)
    await next().catch(() => {})
    await checkpoints.idle()
    await expect(next()).rejects.toThrow('disk full')
    await expect(checkpoints.flush()).rejects.toThrow('disk full')
    await checkpoints.end()
  })

  it('because the claim is lost ends all writing', async () => {
    const host = new SlowHost()
    const { checkpoints, next } = checkpointer(host, 'coalesced')
    await next()
    await host.answer(0, false)
    await checkpoints.idle()
    expect(checkpoints.lost).toBe(true)
    checkpoints.note({ cursor: '9' })
    await checkpoints.flush()
    await checkpoints.end()
    expect(cursors(host)).toEqual([1])
  })
})

it('what a transaction has written is not written again', async () => {
  const host = new MemoryHost()
  const { checkpoints } = checkpointer(host, 'each')
  checkpoints.note({ cursor: '1', completedIterations: 1 })
  checkpoints.noteWritten({ cursor: '2', completedIterations: 2 })
  await checkpoints.settle()
  await checkpoints.flush()
  expect(host.writes).toEqual([])
  expect(checkpoints.progress).toMatchObject({ cursor: '2', completedIterations: 2 })
})
