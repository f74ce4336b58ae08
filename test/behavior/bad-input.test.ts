/** What callers may get wrong when they start a workflow: a typed error each time, and not a row is written. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Decision, defineHero, Geneva, isGenevaError, type Signal, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, countRows, type PlainConnection } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

const Users = defineHero('User', { id: (user: { id: string }) => user.id, load: id => ({ id }) })

class Sample extends Workflow<{ id: string }, { value?: unknown }> {
  static {
    this.heroes(Users)
    this.allowMultiple()
    this.step('only')
  }
  only() {
    return this.input.value as null
  }
}

/** Its step is given up, however often it is called. */
class Asking extends Workflow {
  static {
    this.step('only', { onException: 'dlq' })
    this.human('approve')
    this.waitFor('sent')
  }
  only(): string {
    throw new Error('never')
  }
  async approve(_: Decision) {}
  async sent(_: Signal<string>) {}
}

class Emoji extends Workflow<null, { value: string }> {
  static {
    this.named('🚀 lançamento')
    this.jobOptions({ queue: 'очередь 🐢' })
    this.inline('шагВперёд', wf => wf.input.value)
  }
}

class Point {
  readonly x = 1
}

function nested(depth: number): unknown {
  let value: unknown = 'bottom'
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { value }
  return value
}

const cycle: Record<string, unknown> = {}
cycle.self = cycle
const hero = { id: 'a' }
const valued = (value: unknown) => ({ hero, input: { value } })

const badStarts: readonly (readonly [string, unknown, unknown, string])[] = [
  ['nothing at all', null, undefined, 'INVALID_ARGUMENT'],
  ['a text', 'hero', undefined, 'INVALID_ARGUMENT'],
  ['a number', 7, undefined, 'INVALID_ARGUMENT'],
  ['an input that is a text', { hero, input: 'x' }, undefined, 'INVALID_ARGUMENT'],
  ['an input that is an array', { hero, input: [] }, undefined, 'INVALID_ARGUMENT'],
  ['an input that is a date', { hero, input: new Date() }, undefined, 'INVALID_ARGUMENT'],
  ['an input that is an instance', { hero, input: new Point() }, undefined, 'INVALID_ARGUMENT'],
  ['a function', valued(() => {}), undefined, 'UNSTORABLE_VALUE'],
  ['a symbol', valued(Symbol('s')), undefined, 'UNSTORABLE_VALUE'],
  ['a symbol as key', valued({ [Symbol('s')]: 1 }), undefined, 'UNSTORABLE_VALUE'],
  ['a cycle', valued(cycle), undefined, 'UNSTORABLE_VALUE'],
  ['an instance', valued(new Point()), undefined, 'UNSTORABLE_VALUE'],
  ['a promise', valued(Promise.resolve(1)), undefined, 'UNSTORABLE_VALUE'],
  ['an invalid date', valued(new Date(Number.NaN)), undefined, 'UNSTORABLE_VALUE'],
  ['a key with NUL', valued({ 'a\0b': 1 }), undefined, 'UNSTORABLE_VALUE'],
  ['a weak map', valued(new WeakMap()), undefined, 'UNSTORABLE_VALUE'],
  ['too many levels', valued(nested(200)), undefined, 'UNSTORABLE_VALUE'],
  ['too many bytes', valued('x'.repeat(20_000)), undefined, 'VALUE_TOO_LARGE'],
  ['too many bytes in characters', valued('🦊'.repeat(3000)), undefined, 'VALUE_TOO_LARGE'],
  ['options that are a text', { hero }, 'soon', 'INVALID_ARGUMENT'],
  ['options that are null', { hero }, null, 'INVALID_ARGUMENT'],
  ['tags that are a text', { hero }, { tags: 'vip' }, 'INVALID_ARGUMENT'],
  ['a tag that is empty', { hero }, { tags: [''] }, 'INVALID_ARGUMENT'],
  ['a tag that is a number', { hero }, { tags: [7] }, 'INVALID_ARGUMENT'],
  ['a tag with NUL', { hero }, { tags: ['a\0'] }, 'INVALID_ARGUMENT'],
  ['a tag that is too long', { hero }, { tags: ['x'.repeat(192)] }, 'INVALID_ARGUMENT'],
  ['too many tags', { hero }, { tags: Array.from({ length: 51 }, (_, index) => `${index}`) }, 'INVALID_ARGUMENT'],
  ['a transaction that is none', { hero }, { transaction: {} }, 'INVALID_ARGUMENT'],
  ['a transaction that is a text', { hero }, { transaction: 'tx' }, 'INVALID_ARGUMENT'],
]

forEachDatabase('a start that is given', database => {
  const under = useGeneva(database, {
    workflows: [Sample, Asking, Emoji],
    limits: { inputBytes: 10_000, outputBytes: 10_000 },
  })
  let connection: PlainConnection
  beforeAll(async () => {
    connection = await connectPlainly(database.name, under.url)
  })
  afterAll(() => connection.close())

  it.each(badStarts)('%s is refused, and nothing is written', async (_, what, options, code) => {
    const before = await countRows(connection)
    const started = under.geneva.start(Sample, what as { hero: { id: string } }, options as object)
    const error = await started.then(
      wf => wf,
      reason => reason,
    )
    expect(isGenevaError(error), String(error)).toBe(true)
    expect(error).toMatchObject({ code })
    expect(await countRows(connection)).toEqual(before)
  })

  it('an object whose getter throws is refused, and nothing is written', async () => {
    const value = Object.defineProperty({}, 'trap', {
      enumerable: true,
      get: () => {
        throw new Error('sprung')
      },
    })
    await expect(under.geneva.start(Sample, valued(value))).rejects.toMatchObject({
      code: 'UNSTORABLE_VALUE',
      message: expect.stringContaining('sprung'),
    })
  })

  it('unusual values brings them back as they were', async () => {
    const values = [
      'NUL \0 inside',
      'half a pair \ud800 inside',
      '🦊 👩‍👩‍👧 \u{10FFFF}',
      '\\ \' " ` % _ \n \r \t \u2028',
      { $geneva: 'date', value: 'not a date' },
      { __proto__: null, toString: 1 },
      [undefined, null, Number.NaN, -0, Number.POSITIVE_INFINITY],
      {
        big: 2n ** 200n,
        at: new Date(8.64e15),
        bytes: new Uint8Array(300),
        set: new Set([1n]),
        map: new Map([[{}, []]]),
      },
      nested(90),
      '',
      {},
      0.1 + 0.2,
      Number.MAX_VALUE,
      'x'.repeat(9_900),
    ]
    const started = await Promise.all(values.map(value => under.geneva.start(Sample, valued(value))))
    await under.runDue()
    for (const [index, wf] of started.entries()) {
      expect(await wf.input()).toEqual({ value: values[index] })
      expect(await wf.waitUntilFinished({ timeout: '5s' })).toEqual(values[index])
    }
  })

  it('names with four-byte characters keeps them', async () => {
    const wf = await under.geneva.start(Emoji, { input: { value: '🎉' } }, { tags: ['🏷️'], idempotencyKey: '🔑' })
    await under.runDue({ queues: ['очередь 🐢'] })
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe('🎉')
    expect((await wf.history())[0]?.step).toBe('шагВперёд')
    expect((await under.geneva.find(wf.id))?.type).toBe('🚀 lançamento')
    expect((await under.geneva.list({ tag: '🏷️' })).items).toHaveLength(1)
  })

  it('a request may carry a mebibyte and no more, whatever the limits of inputs and outputs are', async () => {
    const wf = await under.geneva.start(Asking)
    await under.runDue()
    const [letter] = await under.geneva.deadLetters({ workflowId: wf.id })
    const carriers = [
      (value: string) => under.geneva.requeue(letter?.id ?? '', { input: value }),
      (value: string) => under.geneva.resolve(wf.id, 'only', { output: value }),
      (value: string) => wf.decide('approve', { decision: 'confirmed', by: 'ann', data: value as never }),
      (value: string) => wf.signal('sent', value),
    ]
    for (const carry of carriers) {
      await expect(carry('x'.repeat(1024 * 1024))).rejects.toMatchObject({ code: 'VALUE_TOO_LARGE' })
      await carry('x'.repeat(20_000))
      await under.runDue()
    }
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('a request with a long, broken text keeps what can be kept', async () => {
    const wf = await under.geneva.start(Sample, { hero }, { delay: '1 day' })
    await wf.pause({ by: 'a\0nn 🦊', reason: `\ud800 ${'x'.repeat(2_000_000)}` })
    await wf.cancel({ by: '', reason: '' })
    const [paused] = (await wf.events()).filter(event => event.type === 'workflow.paused')
    expect(paused?.by).toBe('ann 🦊')
    expect(paused?.reason).toMatch(/^\uFFFD x+ … \(truncated\)$/)
  })
})

it('limits that make no sense are refused', async () => {
  for (const limits of [{ inputBytes: 0 }, { outputBytes: -1 }, { inputBytes: Number.NaN }, { outputBytes: '1mb' }]) {
    expect(() => new Geneva({ database: 'sqlite:unused.db', limits: limits as object })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  }
})

it('a class or a list of classes that is none is refused', () => {
  for (const workflows of [[class {}], [null], ['Sample'], [Workflow], 'Sample', {}]) {
    expect(() => new Geneva({ database: 'sqlite:unused.db', workflows: workflows as [] })).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/DEFINITION|INVALID_ARGUMENT/) }),
    )
  }
})
