/** What a resumable step can do with its iteration, and what it is refused. */
import { describe, expect, it } from 'vitest'
import type { Iteration } from '../../../../src/definition/iteration.ts'
import { IterationCore } from '../../../../src/engine/iteration/iteration-core.ts'
import { StepIteration } from '../../../../src/engine/iteration/step-iteration.ts'
import { pauseFor } from '../../../../src/primitives/pause-for.ts'
import { noProgress } from '../../../../src/store/records.ts'
import { gate } from '../../../support/wait-for.ts'
import { sampleContext } from '../../definition/sample-workflow.ts'
import { MemoryHost, plainSettings, runUnder, StepLife } from './step-run.ts'

const thrownBy = async (body: (iter: Iteration<any>) => unknown) => (await runUnder(new MemoryHost(), body)).error

it('says where it is: the name of the step and the cursor of its level, in words', async () => {
  const said: string[] = []
  const error = await thrownBy(async iter => {
    said.push(iter.description)
    await iter.set([new Date(0), 7n])
    said.push(iter.name, iter.description)
  })
  expect(error).toBeNull()
  expect(said).toEqual(["at 'copy', cursor null", 'copy', "at 'copy', cursor [ 1970-01-01T00:00:00.000Z, 7n ]"])
})

describe('the cursor', () => {
  it('is null on the first run and what was set on the next', async () => {
    const step = new StepLife()
    const seen: unknown[] = []
    const body = async (iter: Iteration<number>) => {
      seen.push([iter.cursor, iter.resumed, iter.advanced, iter.completedIterations])
      await iter.set(7)
      seen.push([iter.cursor, iter.resumed, iter.advanced, iter.completedIterations])
      await iter.suspend()
    }
    await step.run(body)
    await step.run(body)
    expect(seen).toEqual([
      [null, false, false, 0],
      [7, false, true, 1],
      [7, true, false, 1],
      [7, true, true, 2],
    ])
  })

  const values: [what: string, cursor: unknown][] = [
    ['an integer', 42],
    ['a bigint', 12_345_678_901_234_567_890n],
    ['a string', 'naïve "token"\n'],
    ['a Date', new Date('2026-11-15T12:00:00.123Z')],
    ['an array', [new Date(0), 5n, 'x', null]],
    ['a plain object', { page: 3, token: 'abc' }],
    ['a nested object', { done: { at: [new Date(1)] }, inner: { id: 7n } }],
    ['a boolean', false],
    ['null', null],
  ]
  it.each(values)('comes back with its type: %s', async (_, cursor) => {
    const step = new StepLife()
    await step.run(iter => iter.set(cursor))
    let found: unknown
    await step.run(iter => {
      found = iter.cursor
    })
    expect(found).toStrictEqual(cursor)
  })

  it('is refused where it could not be stored, and stays what it was', async () => {
    const error = await thrownBy(async iter => {
      await iter.set(1)
      await expect(iter.set(() => 1)).rejects.toMatchObject({ code: 'UNSTORABLE_VALUE' })
      await expect(iter.skipTo(Symbol('x'))).rejects.toMatchObject({ code: 'UNSTORABLE_VALUE' })
      expect(iter.cursor).toBe(1)
      await iter.set('x'.repeat(64 * 1024))
    })
    expect(error).toMatchObject({
      code: 'VALUE_TOO_LARGE',
      message: expect.stringContaining('The cursor of step first'),
    })
  })

  it('may be just as large as it is allowed to be', async () => {
    expect(await thrownBy(iter => iter.set('x'.repeat(64 * 1024 - 2)))).toBeNull()
  })
})

describe('advance', () => {
  it('moves to the next whole number, from a start that it is given', async () => {
    const step = new StepLife()
    const cursors: unknown[] = []
    for (let run = 0; run < 2; run++) {
      await step.run<number>(async iter => {
        await iter.advance({ start: 0 })
        await iter.advance({ start: 0 })
        cursors.push(iter.cursor)
      })
    }
    expect(cursors).toEqual([2, 4])
  })

  it('says what it needs when there is no cursor yet', async () => {
    expect(await thrownBy(iter => iter.advance())).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('iter.advance({ start: 0 })'),
    })
  })

  it.each([1.5, '1', 1n, new Date(0), Number.NaN, 2 ** 53])('refuses to count on from %s', async cursor => {
    const error = await thrownBy(async iter => {
      await iter.set(cursor)
      await iter.advance({ start: 0 })
    })
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

describe('stopping', () => {
  it('by skipTo moves the cursor, and by suspend leaves it', async () => {
    const skipped = await runUnder<string>(new MemoryHost(), iter => iter.skipTo('next', { wait: '1 min' }))
    expect(skipped.stopped).toMatchObject({ action: 'suspend', reason: 'skipped ahead', waitMs: 60_000 })
    expect(skipped.progress).toMatchObject({ cursor: '"next"', completedIterations: 1 })
    const suspended = await runUnder<string>(new MemoryHost(), iter => iter.suspend({ wait: 5 }))
    expect(suspended.stopped).toMatchObject({ action: 'suspend', reason: 'suspended by the step', waitMs: 5 })
    expect(suspended.progress).toMatchObject({ cursor: null, completedIterations: 0 })
  })

  it('refuses a wait that makes no sense, and does not stop then', async () => {
    const { stopped, error, progress } = await runUnder<number>(new MemoryHost(), iter => iter.skipTo(1, { wait: -1 }))
    expect(stopped).toBeNull()
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(progress.cursor).toBeNull()
  })

  it('when asked to happens at the next checkpoint, with the item before it done', async () => {
    const host = new MemoryHost()
    const { stopped, progress } = await runUnder<number>(host, async iter => {
      await iter.set(1)
      host.interruption = 'shutting down'
      await iter.set(2)
      throw new Error('not reached')
    })
    expect(stopped?.reason).toBe('shutting down')
    expect(progress.cursor).toBe('2')
  })

  it('happens at a checkpoint without an item as well', async () => {
    const host = new MemoryHost()
    host.interruption = 'paused'
    const { stopped } = await runUnder(host, iter => iter.checkpoint())
    expect(stopped?.reason).toBe('paused')
  })

  it('cannot be swallowed: no other item, no other reason', async () => {
    const host = new MemoryHost()
    const items: number[] = []
    const { stopped, error, progress } = await runUnder<number>(host, async iter => {
      host.interruption = 'shutting down'
      for (let i = 1; i < 5; i++) {
        items.push(i)
        await iter.set(i).catch(() => {})
      }
      await iter.suspend({ wait: 500 }).catch(() => {})
      await iter.checkpoint().catch(() => {})
    })
    expect(error).toBeNull()
    expect(stopped).toMatchObject({ reason: 'shutting down', waitMs: 0 })
    expect(progress).toMatchObject({ cursor: '1', completedIterations: 1 })
  })

  it('also happens when nobody waits for the call that met it', async () => {
    const host = new MemoryHost()
    host.interruption = 'paused'
    const { stopped } = await runUnder<number>(host, async iter => {
      void iter.set(1)
      // On a busy machine it takes more than one turn.
      for (let turn = 0; turn < 100; turn++) await new Promise(resolve => setImmediate(resolve))
    })
    expect(stopped?.reason).toBe('paused')
  })

  it('comes because the claim is lost', async () => {
    const host = new MemoryHost()
    const { stopped } = await runUnder<number>(host, async iter => {
      await iter.set(1)
      host.isLost = true
      await iter.set(2)
    })
    expect(stopped?.reason).toBe('claim lost')
  })
})

describe('a call after the end of the step', () => {
  it('is refused and writes nothing', async () => {
    const host = new MemoryHost()
    let late: Iteration<number> | undefined
    await runUnder<number>(host, async iter => {
      await iter.set(1)
      late = iter
    })
    await expect(late?.set(2)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('Step first has ended'),
    })
    await expect(late?.checkpoint()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(host.writes.map(write => write.cursor)).toEqual(['1'])
  })
})

describe('yielding', () => {
  it('after so many items of a run, however many there were before', async () => {
    const step = new StepLife()
    const runs: number[][] = []
    for (let run = 0; run < 3; run++) {
      const items: number[] = []
      const { stopped } = await step.run<number>(
        async iter => {
          for await (const item of iter.over([1, 2, 3, 4, 5, 6, 7])) items.push(item)
        },
        { yieldEvery: 3 },
      )
      runs.push(items)
      expect(stopped?.reason ?? null).toBe(run < 2 ? 'yielded after 3 items' : null)
    }
    expect(runs).toEqual([[1, 2, 3], [4, 5, 6], [7]])
  })

  it('after so much time, at the next checkpoint', async () => {
    const { stopped, progress } = await runUnder<number>(
      new MemoryHost(),
      async iter => {
        await new Promise(resolve => setTimeout(resolve, 12))
        await iter.set(1)
        throw new Error('not reached')
      },
      { maxRuntimeMs: 10 },
    )
    expect(stopped?.reason).toBe('yielded after 10 ms')
    expect(progress.cursor).toBe('1')
  })
})

describe('the limit of iterations', () => {
  it('lets just so many items pass', async () => {
    const items: number[] = []
    const { error, progress } = await runUnder<number>(
      new MemoryHost(),
      async iter => {
        for await (const item of iter.over([1, 2, 3, 4])) items.push(item)
      },
      { maxIterations: 3 },
    )
    expect(items).toEqual([1, 2, 3])
    expect(error).toMatchObject({
      code: 'ITERATION_LIMIT',
      message: expect.stringContaining('Step first of workflow 7'),
    })
    expect(progress).toMatchObject({ cursor: '3', completedIterations: 3 })
    expect(
      (await runUnder<number>(new MemoryHost(), iter => iter.over([1, 2, 3], () => {}), { maxIterations: 3 })).error,
    ).toBeNull()
  })

  it('is met at once by a run that begins beyond it, without another item', async () => {
    const step = new StepLife()
    const items: number[] = []
    const byHand = async (iter: Iteration<number>) => {
      for (let i = iter.cursor ?? 0; i < 10; i++) {
        items.push(i)
        await iter.set(i + 1)
      }
    }
    for (let run = 0; run < 3; run++) {
      const { error } = await step.run(byHand, { maxIterations: 2 })
      expect(error).toMatchObject({ code: 'ITERATION_LIMIT' })
    }
    expect(items).toEqual([0, 1, 2])
    const { error } = await step.run(byHand, { maxIterations: 20 })
    expect(error).toBeNull()
    expect(items).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('counts the records of a batch', async () => {
    const sizes: number[] = []
    const { error } = await runUnder<number>(
      new MemoryHost(),
      async iter => {
        const all = [1, 2, 3, 4, 5]
        const source = (after: number | null, limit: number) => all.filter(id => id > (after ?? 0)).slice(0, limit)
        for await (const batch of iter.batches(source, id => id, { size: 2 })) sizes.push(batch.length)
      },
      { maxIterations: 4 },
    )
    expect(sizes).toEqual([2, 2])
    expect(error).toMatchObject({ code: 'ITERATION_LIMIT' })
  })
})

describe('a transaction', () => {
  const one = (work: (iter: Iteration<number>) => unknown, host = new MemoryHost()) =>
    runUnder<number>(host, async iter => {
      for await (const _ of iter.over(['item'])) await work(iter)
    })

  it('moves the cursor with its writes, and returns what the work returned', async () => {
    const host = new MemoryHost()
    let result: unknown
    const { progress } = await one(async iter => {
      result = await iter.transaction(async () => 'result')
    }, host)
    expect(result).toBe('result')
    expect(host.writes).toEqual([{ ...noProgress, cursor: '1', completedIterations: 1 }])
    expect(progress).toMatchObject({ cursor: '1', completedIterations: 1 })
  })

  it('is refused outside of a loop, before, behind and after a break', async () => {
    const error = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('inside a loop'),
    })
    const work = async () => {}
    await runUnder<number>(new MemoryHost(), async iter => {
      await expect(iter.transaction(work)).rejects.toEqual(error)
      for await (const item of iter.over([1, 2])) if (item === 1) break
      await expect(iter.transaction(work)).rejects.toEqual(error)
      for await (const _ of iter.over([1, 2]));
      await expect(iter.transaction(work)).rejects.toEqual(error)
    })
  })

  it('is refused a second time for one item, also while the first is under way', async () => {
    const host = new MemoryHost()
    const { error } = await one(async iter => {
      const first = iter.transaction(async () => {})
      await expect(iter.transaction(async () => {})).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
      await first
      await iter.transaction(async () => {})
    }, host)
    expect(error).toMatchObject({ message: expect.stringContaining('twice for one item') })
    expect(host.committed).toBe(1)
  })

  it.each([
    ['set', (iter: Iteration<number>) => iter.set(7)],
    ['advance', (iter: Iteration<number>) => iter.advance({ start: 0 })],
    ['checkpoint', (iter: Iteration<number>) => iter.checkpoint()],
    ['skipTo', (iter: Iteration<number>) => iter.skipTo(7)],
  ])('refuses %s inside of it', async (_, call) => {
    const { stopped, error, progress } = await one(iter => iter.transaction(() => call(iter)))
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('still open') })
    expect({ stopped, cursor: progress.cursor }).toEqual({ stopped: null, cursor: null })
  })

  it('must be waited for before the loop goes on', async () => {
    const held = gate()
    const { error, progress } = await runUnder<number>(new MemoryHost(), async iter => {
      setImmediate(() => held.open())
      for await (const _ of iter.over([1, 2])) void iter.transaction(() => held.passed)
    })
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('`await`') })
    expect(progress).toMatchObject({ cursor: '1', completedIterations: 1 })
  })

  it('that failed may be tried again, and leaves the cursor where it was', async () => {
    const host = new MemoryHost()
    const { error, progress } = await one(async iter => {
      await expect(iter.transaction(() => Promise.reject(new Error('deadlock')))).rejects.toThrow('deadlock')
      expect(host.writes).toEqual([])
      await iter.transaction(async () => {})
    }, host)
    expect(error).toBeNull()
    expect(progress).toMatchObject({ cursor: '1', completedIterations: 1 })
    expect(host.committed).toBe(1)
  })

  it('stops the step when the claim is lost', async () => {
    const host = new MemoryHost()
    host.isLost = true
    const { stopped, progress } = await one(iter => iter.transaction(async () => {}), host)
    expect(stopped?.reason).toBe('claim lost')
    expect(progress.cursor).toBeNull()
  })

  it('that nobody waits for is part of the run all the same', async () => {
    const host = new MemoryHost()
    const { progress } = await runUnder<number>(host, async iter => {
      for await (const _ of iter.over(['item'])) {
        void iter.transaction(async () => {
          await new Promise(resolve => setImmediate(resolve))
        })
        return
      }
    })
    expect(host.committed).toBe(1)
    expect(progress.cursor).toBe('1')
  })
})

describe('progress', () => {
  it('keeps the total with the count', async () => {
    const host = new MemoryHost()
    const { progress } = await runUnder<number>(host, async iter => {
      iter.progress({ total: 9 })
      await iter.set(1)
    })
    expect(host.writes).toMatchObject([{ completedIterations: 1, total: 9 }])
    expect(progress.total).toBe(9)
  })

  it.each([-1, 1.5, Number.NaN, '5', undefined])('refuses a total of %s', async total => {
    const error = await thrownBy(iter => iter.progress({ total: total as number }))
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

describe('a loop that waits for nothing lets the process do other things', () => {
  const loops: [what: string, loop: (iter: Iteration<number>, numbers: Iterable<number>) => Promise<unknown>][] = [
    [
      'set',
      async (iter, numbers) => {
        for (const i of numbers) await iter.set(i)
      },
    ],
    [
      'checkpoint',
      async (iter, numbers) => {
        for (const _ of numbers) await iter.checkpoint()
      },
    ],
    ['over', (iter, numbers) => iter.over(numbers, () => {})],
    ['transaction', (iter, numbers) => iter.over(numbers, () => iter.transaction(async () => {}))],
  ]

  it.each(loops)('%s', async (_, loop) => {
    for (const checkpoint of ['each', 'coalesced', { items: 1000, timeMs: null }] as const) {
      let turned = false
      setImmediate(() => {
        turned = true
      })
      const end = performance.now() + 2000
      function* numbers() {
        for (let i = 0; !turned && performance.now() < end; i++) yield i
      }
      const { error } = await runUnder<number>(new MemoryHost(), iter => loop(iter, numbers()), { checkpoint })
      expect({ error, turned, inTime: performance.now() < end }).toEqual({ error: null, turned: true, inTime: true })
    }
  })
})

it('a run whose code was not reached does not count', async () => {
  const host = new MemoryHost({ ...noProgress, runs: 1 })
  const core = new IterationCore({ name: 'copy', host, settings: plainSettings, context: sampleContext() })
  expect(await core.end()).toMatchObject({ runs: 0 })
})

describe('what is reported after the transaction of an item', () => {
  const work = async () => {}
  const hang = () => new Promise<never>(() => {})

  async function ended(host: MemoryHost, of: () => Promise<unknown>): Promise<unknown> {
    const core = new IterationCore({ name: 'copy', host, settings: plainSettings, context: sampleContext() })
    core.begins()
    const iter = StepIteration.outermost<number>(core)
    const looping = iter.over([1, 2], () => iter.transaction(of)).catch(() => {})
    await Promise.race([looping, pauseFor(20)])
    core.leaveBehind()
    return core.end()
  }

  it('is how far it came, if it was committed', async () => {
    expect(await ended(new MemoryHost(), work)).toMatchObject({ cursor: '2', completedIterations: 2 })
  })

  it('is how far the step came before, if its work threw, or was left behind', async () => {
    const fails = () => Promise.reject(new Error('no such account'))
    for (const of of [fails, hang]) {
      expect(await ended(new MemoryHost(), of)).toMatchObject({ cursor: null, completedIterations: 0 })
    }
  })

  it('is what the row says, if nobody has heard of the commit', async () => {
    for (const answer of [hang, () => Promise.reject(new Error('the line is dead'))]) {
      const host = new MemoryHost()
      host.transact = async (_progress, of) => {
        await of({ query: async () => [], handle: null }, () => true)
        return answer()
      }
      expect(await ended(host, work)).toBe('as written')
    }
  })
})
