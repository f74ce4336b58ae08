/** The loops over items: stopped at any point and in any way, they lose nothing and do nothing twice that was done. */
import { describe, expect, it } from 'vitest'
import type { Iteration, NestedCursor } from '../../../../src/definition/iteration.ts'
import { MemoryHost, runUnder, StepLife } from './step-run.ts'

const fifty = Array.from({ length: 50 }, (_, index) => index + 1)

/** Keyset pages of numbers, as a table would give them. */
function pagesOf(all: readonly number[]) {
  return (after: number | null, limit: number) => all.filter(id => id > (after ?? 0)).slice(0, limit)
}

type Loop = (iter: Iteration<any>, all: readonly number[]) => AsyncIterable<number | readonly number[]>

const loops: [name: string, loop: Loop][] = [
  ['a list', (iter, all) => iter.over(all)],
  ['a Set', (iter, all) => iter.over(new Set(all))],
  [
    'a generator',
    (iter, all) =>
      iter.over(
        (function* () {
          yield* all
        })(),
      ),
  ],
  ['records', (iter, all) => iter.records(pagesOf(all), id => id, { size: 7 })],
  [
    'records of a source that is asynchronous',
    (iter, all) =>
      iter.records(
        async (a, l) => pagesOf(all)(a, l),
        id => id,
      ),
  ],
  [
    'records of a source that knows no limit',
    (iter, all) =>
      iter.records(
        a => pagesOf(all)(a, 1000),
        id => id,
        { size: 7 },
      ),
  ],
  ['batches', (iter, all) => iter.batches(pagesOf(all), id => id, { size: 1 })],
  [
    'pairs',
    (iter, all) => iter.pairs(after => pagesOf(all)(after as number | null, 1000).map(id => [id, id] as const)),
  ],
  [
    'pairs that come asynchronously',
    (iter, all) =>
      iter.pairs(async function* (after) {
        for (const id of pagesOf(all)(after as number | null, 1000)) yield [id, id] as const
      }),
  ],
]

describe.each(loops)('a loop over %s', (_, loop) => {
  /** Goes through all items and does something at one of them, before or after its body. */
  const walk = async (iter: Iteration<any>, all: readonly number[], body: (item: number) => unknown) => {
    for await (const item of loop(iter, all)) await body(Number(item))
  }

  it('hands out every item once, in order', async () => {
    const seen: number[] = []
    const { progress, error } = await runUnder(new MemoryHost(), iter => walk(iter, fifty, item => seen.push(item)))
    expect(error).toBeNull()
    expect(seen).toEqual(fifty)
    expect(progress.completedIterations).toBe(50)
  })

  it('that is empty ends at once, with no iteration', async () => {
    const host = new MemoryHost()
    const { progress, error } = await runUnder(host, iter => walk(iter, [], () => expect.unreachable()))
    expect({ error, progress, writes: host.writes }).toEqual({ error: null, progress: host.progress, writes: [] })
  })

  it('asked to stop at any item goes on behind it: none lost, none twice', async () => {
    for (const k of fifty) {
      const step = new StepLife()
      const seen: number[] = []
      const { stopped } = await step.run((iter, host) =>
        walk(iter, fifty, item => {
          seen.push(item)
          if (item === k) host.interruption = 'paused'
        }),
      )
      expect(stopped?.reason).toBe('paused')
      expect(step.progress.completedIterations).toBe(k)
      await step.run(iter => walk(iter, fifty, item => seen.push(item)))
      expect(seen).toEqual(fifty)
    }
  })

  it('that throws at any item goes on with that item', async () => {
    for (const k of fifty) {
      const step = new StepLife()
      const done: number[] = []
      const { error } = await step.run(iter =>
        walk(iter, fifty, item => {
          if (item === k) throw new Error('broken')
          done.push(item)
        }),
      )
      expect(error).toMatchObject({ message: 'broken' })
      await step.run(iter => walk(iter, fifty, item => done.push(item)))
      expect(done).toEqual(fifty)
    }
  })

  it('whose process dies at any item does only that item again', async () => {
    for (const k of fifty) {
      const step = new StepLife()
      const seen: number[] = []
      await step.die(iter =>
        walk(iter, fifty, item => {
          seen.push(item)
          if (item === k) throw new Error('the process is gone')
        }),
      )
      await step.run(iter => walk(iter, fifty, item => seen.push(item)))
      expect(seen).toEqual([...fifty.slice(0, k), ...fifty.slice(k - 1)])
    }
  })

  it('whose process dies at any item with a transaction does none again', async () => {
    for (const k of fifty) {
      const step = new StepLife()
      const committed: number[] = []
      const body = (iter: Iteration<any>, death: number) =>
        walk(iter, fifty, async item => {
          await iter.transaction(async () => void committed.push(item))
          if (item === death) throw new Error('the process is gone')
        })
      await step.die(iter => body(iter, k))
      await step.run(iter => body(iter, 0))
      expect(committed).toEqual(fifty)
    }
  })

  it('counts an item that was left by `continue`, and none that was left by `break` or `return`', async () => {
    const step = new StepLife()
    const seen: number[] = []
    await step.run(async iter => {
      for await (const item of loop(iter, fifty)) {
        seen.push(Number(item))
        if (Number(item) < 3) continue
        break
      }
    })
    expect(step.progress.completedIterations).toBe(2)
    await step.run(async iter => {
      for await (const item of loop(iter, fifty)) {
        seen.push(Number(item))
        return
      }
    })
    expect(step.progress.completedIterations).toBe(2)
    expect(seen).toEqual([1, 2, 3, 3])
  })

  it('goes on where it was when it is begun again in the same run', async () => {
    const seen: number[] = []
    await runUnder(new MemoryHost(), async iter => {
      for await (const item of loop(iter, fifty)) {
        if (Number(item) === 3) break
        seen.push(Number(item))
      }
      await walk(iter, fifty, item => seen.push(item))
    })
    expect(seen).toEqual(fifty)
  })

  it('stays stopped when the stop is swallowed', async () => {
    const seen: number[] = []
    const host = new MemoryHost()
    const { stopped, progress } = await runUnder(host, async iter => {
      for (let tries = 0; tries < 3; tries++) {
        try {
          for await (const item of loop(iter, fifty)) {
            seen.push(Number(item))
            host.interruption = 'shutting down'
            await iter.checkpoint().catch(() => {})
          }
        } catch {
          // Just what a step should not do.
        }
      }
    })
    expect(seen).toEqual([1])
    expect(stopped?.reason).toBe('shutting down')
    // The item was interrupted in mid-body, so it is done again.
    expect(progress.completedIterations).toBe(0)
  })

  it('refuses a second loop inside it', async () => {
    const { error } = await runUnder(new MemoryHost(), iter =>
      walk(iter, fifty, async () => {
        for await (const _ of loop(iter, fifty));
      }),
    )
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('iter.nested') })
  })
})

describe('a loop over a list', () => {
  it('has a form with a function', async () => {
    const step = new StepLife()
    const seen: string[] = []
    await step.run<number>((iter, host) =>
      iter.over(['a', 'b', 'c'], async item => {
        seen.push(item)
        host.interruption = 'paused'
      }),
    )
    await step.run<number>(iter => iter.over(['a', 'b', 'c'], item => seen.push(item)))
    expect(seen).toEqual(['a', 'b', 'c'])
  })

  it('has room for one list only, because a second one would begin at the end of the first', async () => {
    const step = new StepLife()
    const seen: string[] = []
    for (let run = 0; run < 2; run++) {
      const { error } = await step.run<number>(async iter => {
        await iter.over(['a', 'b'], item => seen.push(item))
        await iter.over(['c', 'd', 'e'], item => seen.push(item))
      })
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('A second list') })
    }
    expect(seen).toEqual(['a', 'b'])
  })

  it('closes a generator that it leaves', async () => {
    let closed = false
    function* numbers() {
      try {
        yield 1
        yield 2
      } finally {
        closed = true
      }
    }
    await runUnder<number>(new MemoryHost(), async iter => {
      for await (const _ of iter.over(numbers())) break
    })
    expect(closed).toBe(true)
  })
})

describe('batches', () => {
  it('are as large as asked, also from a source that knows no limit, and count as their records', async () => {
    for (const source of [pagesOf(fifty), (after: number | null) => pagesOf(fifty)(after, 1000)]) {
      const sizes: number[] = []
      const { progress } = await runUnder<number>(new MemoryHost(), async iter => {
        for await (const batch of iter.batches(source, id => id, { size: 20 })) sizes.push(batch.length)
      })
      expect(sizes).toEqual([20, 20, 10])
      expect(progress).toMatchObject({ cursor: '50', completedIterations: 50 })
    }
  })

  it('stopped after any of them go on with the next', async () => {
    for (const k of [1, 2, 3]) {
      const step = new StepLife()
      const seen: number[] = []
      const body = async (iter: Iteration<number>, at: number, host: MemoryHost) => {
        let count = 0
        for await (const batch of iter.batches(pagesOf(fifty), id => id, { size: 20 })) {
          seen.push(...batch)
          if (++count === at) host.interruption = 'paused'
        }
      }
      await step.run<number>((iter, host) => body(iter, k, host))
      await step.run<number>((iter, host) => body(iter, 0, host))
      expect(seen).toEqual(fifty)
    }
  })
})

describe('cursors', () => {
  interface Row {
    readonly id: number
    readonly at: Date
  }
  /** Three rows at each time, so that every page ends among equals. */
  const rows: Row[] = fifty.map(id => ({ id, at: new Date(Math.floor(id / 3)) }))
  const take = (after: (row: Row) => boolean, limit: number) => rows.filter(after).slice(0, limit)

  it.each([1, 2, 3, 4, 7, 100])('that are equal in a row are refused, wherever a page of %i ends', async size => {
    const seen: number[] = []
    const { error } = await runUnder<Date>(new MemoryHost(), async iter => {
      const source = (after: Date | null, limit: number) => take(row => after === null || row.at > after, limit)
      for await (const row of iter.records(source, row => row.at, { size })) seen.push(row.id)
    })
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('Two records in a row have the cursor'),
    })
    // None was left out before it was noticed.
    expect(seen).toEqual(fifty.slice(0, seen.length))
  })

  it.each([1, 2, 3, 4, 7, 100])('with a unique part lose nothing and double nothing in pages of %i', async size => {
    const step = new StepLife()
    const seen: number[] = []
    const source = (after: [Date, number] | null, limit: number) =>
      take(row => after === null || row.at > after[0] || (+row.at === +after[0] && row.id > after[1]), limit)
    for (let run = 0; run < 60; run++) {
      const { stopped } = await step.run<[Date, number]>(
        async iter => {
          for await (const row of iter.records(source, row => [row.at, row.id], { size })) seen.push(row.id)
        },
        { yieldEvery: 2 },
      )
      if (stopped === null) break
    }
    expect(seen).toEqual(fifty)
  })

  it.each([
    ['gives its last record again', (after: number | null, limit: number) => pagesOf(fifty)((after ?? 1) - 1, limit)],
    ['always begins from the start', (_: number | null, limit: number) => pagesOf(fifty)(null, limit)],
    ['has no limit and always begins from the start', () => fifty],
  ])('of a source that %s are refused instead of going round for ever', async (_, source) => {
    const { error } = await runUnder<number>(new MemoryHost(), async iter => {
      for await (const _ of iter.records(source, id => id, { size: 10 }));
    })
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it.each([undefined, null])('that are %s are refused', async cursor => {
    const { error } = await runUnder<any>(new MemoryHost(), async iter => {
      for await (const _ of iter.records(pagesOf(fifty), () => cursor));
    })
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(`is ${cursor}`) })
  })

  it('of pairs that are equal in a row, or where the run has begun, are refused', async () => {
    const step = new StepLife()
    const pairs = async (iter: Iteration<number>, given: readonly (readonly [string, number])[]) => {
      for await (const _ of iter.pairs<string>(() => given));
    }
    const { error } = await step.run<number>(iter =>
      pairs(iter, [
        ['a', 1],
        ['b', 2],
        ['c', 2],
      ]),
    )
    expect(error).toMatchObject({ message: expect.stringContaining('have the cursor 2') })
    expect(step.cursor).toBe(2)
    const again = await step.run<number>(iter =>
      pairs(iter, [
        ['b', 2],
        ['c', 3],
      ]),
    )
    expect(again.error).toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  it('are asked for by a function', async () => {
    const { error } = await runUnder<number>(new MemoryHost(), async iter => {
      for await (const _ of iter.records<number>(pagesOf(fifty), { size: 5 } as never));
    })
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('r => r.id') })
  })
})

describe('a source of records', () => {
  it.each([0, -1, 1.5, '5'])('cannot be read in pages of %s', async size => {
    const { error } = await runUnder<number>(new MemoryHost(), async iter => {
      for await (const _ of iter.records(pagesOf(fifty), id => id, { size: size as number }));
    })
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('size of a page') })
  })

  it('that gives no array is refused', async () => {
    const { error } = await runUnder<number>(new MemoryHost(), async iter => {
      for await (const _ of iter.records<number>(
        async () => undefined as never,
        id => id,
      ));
    })
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('array') })
  })

  it('may be given as one thing, with its options behind it', async () => {
    const limits: number[] = []
    const seen: number[] = []
    const source = {
      fetch: (after: number | null, limit: number) => {
        limits.push(limit)
        return pagesOf(fifty)(after, limit)
      },
      cursorOf: (id: number) => id,
    }
    await runUnder<number>(new MemoryHost(), async iter => {
      for await (const id of iter.records(source, { size: 30 })) seen.push(id)
    })
    expect(seen).toEqual(fifty)
    expect(limits).toEqual([31, 31, 31])
  })

  it('sees what was added while it was being read', async () => {
    const all = [1, 2, 3]
    const seen: number[] = []
    await runUnder<number>(new MemoryHost(), async iter => {
      for await (const id of iter.records(
        (after, limit) => pagesOf(all)(after, limit),
        id => id,
      )) {
        seen.push(id)
        if (id < 6) all.push(id + 3)
      }
    })
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })
})

describe('a nested loop', () => {
  const ledger: Record<number, readonly string[]> = { 1: ['a', 'b', 'c'], 2: [], 3: ['a'], 4: [], 5: ['x', 'y'] }
  const all = ['1a', '1b', '1c', '3a', '5x', '5y']
  const walk = async (
    iter: Iteration<NestedCursor<number, string>>,
    body: (place: string) => unknown,
    accounts: readonly number[] = [1, 2, 3, 4, 5],
  ) => {
    for await (const [account, inner] of iter.nested(pagesOf(accounts), id => id, { size: 2 })) {
      const refs = ledger[account] ?? []
      for await (const ref of inner.records(
        (after, limit) => refs.filter(each => each > (after ?? '')).slice(0, limit),
        each => each,
        { size: 2 },
      )) {
        await body(`${account}${ref}`)
      }
    }
  }

  it('goes through both levels, past outer items that have nothing in them', async () => {
    const seen: string[] = []
    const { progress } = await runUnder(new MemoryHost(), iter => walk(iter as never, place => seen.push(place)))
    expect(seen).toEqual(all)
    expect(progress).toMatchObject({ completedIterations: 6 })
    expect(JSON.parse(progress.cursor ?? '')).toEqual({ done: 5, at: null, inner: null })
  })

  it('stopped at any item goes on at both levels', async () => {
    for (const k of all) {
      const step = new StepLife()
      const seen: string[] = []
      await step.run<never>((iter, host) =>
        walk(iter as never, place => {
          seen.push(place)
          if (place === k) host.interruption = 'paused'
        }),
      )
      await step.run<never>(iter => walk(iter as never, place => seen.push(place)))
      expect(seen).toEqual(all)
    }
  })

  it('stopped after every single item goes on at both levels', async () => {
    const step = new StepLife()
    const seen: string[] = []
    for (let run = 0; run < 10; run++) {
      const { stopped } = await step.run<never>(iter => walk(iter as never, place => seen.push(place)), {
        yieldEvery: 1,
      })
      if (stopped === null) break
    }
    expect(seen).toEqual(all)
  })

  it('whose outer item is gone when it goes on continues with the next', async () => {
    const step = new StepLife()
    const seen: string[] = []
    await step.run<never>(iter => walk(iter as never, place => seen.push(place)), { yieldEvery: 2 })
    await step.run<never>(iter => walk(iter as never, place => seen.push(place), [2, 3, 4, 5]))
    expect(seen).toEqual(['1a', '1b', '3a', '5x', '5y'])
  })

  it('shows at each level its own cursor', async () => {
    const cursors: unknown[] = []
    await runUnder<NestedCursor<number, string>>(new MemoryHost(), async iter => {
      for await (const [account, inner] of iter.nested(pagesOf([1, 3]), id => id)) {
        await inner.set(`of ${account}`)
        cursors.push(inner.cursor, iter.cursor)
      }
      cursors.push(iter.cursor)
    })
    expect(cursors).toEqual([
      'of 1',
      { done: null, at: 1, inner: 'of 1' },
      'of 3',
      { done: 1, at: 3, inner: 'of 3' },
      { done: 3, at: null, inner: null },
    ])
  })

  it('commits an inner item with its own writes', async () => {
    const host = new MemoryHost()
    const { progress } = await runUnder<NestedCursor<number, number>>(host, async iter => {
      for await (const [, inner] of iter.nested(pagesOf([1, 2]), id => id)) {
        for await (const _ of inner.over(['a', 'b'])) await inner.transaction(async () => {})
      }
    })
    expect(host.committed).toBe(4)
    expect(progress.completedIterations).toBe(4)
  })

  it('may have three levels', async () => {
    type Cursor = NestedCursor<number, NestedCursor<number, number>>
    const step = new StepLife()
    const seen: string[] = []
    for (let run = 0; run < 20; run++) {
      const { stopped } = await step.run<Cursor>(
        async iter => {
          for await (const [a, second] of iter.nested(pagesOf([1, 2]), id => id))
            for await (const [b, third] of second.nested(pagesOf([1, 2]), id => id))
              for await (const c of third.over(['x', 'y'])) seen.push(`${a}${b}${c}`)
        },
        { yieldEvery: 1 },
      )
      if (stopped === null) break
    }
    expect(seen).toEqual(['11x', '11y', '12x', '12y', '21x', '21y', '22x', '22y'])
  })
})
