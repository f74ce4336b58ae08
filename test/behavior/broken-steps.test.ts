/** Whatever a step throws or returns, its end is recorded: a failure can always be written down. */
import { expect, it } from 'vitest'
import { defineJob, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Point {
  readonly x = 1
}

class WithGetters extends Error {
  override get message(): string {
    throw new Error('message')
  }
  override get stack(): string {
    throw new Error('stack')
  }
}

const cycle: unknown[] = []
cycle.push(cycle)

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function nested(depth: number): unknown {
  let value: unknown = 'bottom'
  for (let level = 0; level < depth; level++) value = { value }
  return value
}

const thrown: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  'a text': () => 'just a text',
  'a number': () => 42,
  'a bigint': () => 42n,
  'a symbol': () => Symbol('thrown'),
  'a function': () => () => {},
  'a plain object': () => ({ code: 'E_PLAIN', nested: { deep: true } }),
  'a frozen error': () => Object.freeze(new RangeError('frozen')),
  'an error with throwing getters': () => new WithGetters(),
  'an error with an object as message': () => Object.assign(new Error('x'), { message: { not: 'a text' } }),
  'an error without stack': () => Object.assign(new Error('no stack'), { stack: undefined }),
  'an error that is its own cause': () => {
    const error = new Error('self')
    error.cause = error
    return error
  },
  'an error with a megabyte of message': () => new Error('x'.repeat(1_000_000)),
  'an error with a megabyte of name': () => Object.assign(new Error('named'), { name: 'N'.repeat(1_000_000) }),
  'an error with NUL': () => new Error('before\0after'),
  'an error with half a surrogate pair': () => new Error('half \ud83d'),
  'an error with emoji': () => new Error('🔥'.repeat(5000)),
  'an error of another realm': () =>
    Object.assign(Object.create({ constructor: { name: 'Alien' } }), { message: 'hi' }),
  'a revoked proxy': revoked,
  'an aggregate': () => new AggregateError([new Error('one'), 'two', undefined]),
}

const returned: Record<string, readonly [() => unknown, string]> = {
  'a function': [() => () => {}, 'UnstorableValueError'],
  'a symbol': [() => Symbol('s'), 'UnstorableValueError'],
  'a cycle': [() => cycle, 'UnstorableValueError'],
  'an instance': [() => new Point(), 'UnstorableValueError'],
  'a promise in an object': [() => ({ later: Promise.resolve(1) }), 'UnstorableValueError'],
  'too many levels': [() => nested(101), 'UnstorableValueError'],
  'a revoked proxy': [() => ({ value: revoked() }), 'UnstorableValueError'],
  'too many bytes': [() => 'x'.repeat(10_001), 'ValueTooLargeError'],
}

const quiet = defineJob('quiet', async () => {})

class Breaks extends Workflow<null, { how: string; where: 'throws' | 'returns' | 'rejects' | 'cancels' }> {
  static {
    this.step('only')
    this.step('after')
  }
  async only() {
    const { how, where } = this.input
    if (where === 'throws') throw thrown[how]?.()
    if (where === 'rejects') await Promise.reject(thrown[how]?.())
    if (where === 'cancels') this.cancel(reasons[how] as string)
    return returned[how]?.[0]() as null
  }
  after() {}
}

const reasons: Record<string, unknown> = {
  NUL: 'a\0b',
  'a megabyte': 'x'.repeat(1_000_000),
  emoji: '🔥',
  'a symbol': Symbol('why'),
  'an object that cannot be printed': {
    toString() {
      throw new Error('unprintable')
    },
  },
  'a number': 7,
}

forEachDatabase('a step', database => {
  const under = useGeneva(database, { workflows: [Breaks], jobs: [quiet], limits: { outputBytes: 10_000 } })

  async function runAll(where: 'throws' | 'returns' | 'rejects' | 'cancels', hows: readonly string[]) {
    under.errors.length = 0
    const started = await under.geneva.startMany(
      Breaks,
      hows.map(how => ({ input: { how, where } })),
    )
    await under.runDue()
    return Promise.all(
      started.map(async (wf, index) => {
        const [execution] = await wf.history()
        return { how: hows[index] ?? '', state: (await wf.refresh()).state, execution }
      }),
    )
  }

  it('that throws anything at all is recorded as failed, and told to onError', async () => {
    const hows = Object.keys(thrown)
    const ends = await runAll('throws', hows)
    for (const { how, state, execution } of ends) {
      expect(state, how).toBe('paused')
      expect(execution, how).toMatchObject({ state: 'failed', outcome: 'paused_by_exception' })
      expect(typeof execution?.error?.message, how).toBe('string')
      expect(execution?.error?.className, how).not.toBe('')
      expect(Buffer.byteLength(execution?.error?.message ?? ''), how).toBeLessThanOrEqual(10_000)
    }
    expect(under.errors).toHaveLength(hows.length)
    const messages = Object.fromEntries(ends.map(({ how, execution }) => [how, execution?.error]))
    expect(messages.undefined).toMatchObject({ className: 'undefined', message: 'undefined was thrown' })
    expect(messages['a text']).toMatchObject({ className: 'string', message: 'just a text', stack: null })
    expect(messages['a frozen error']).toMatchObject({ className: 'RangeError', message: 'frozen' })
    expect(messages['an error with NUL']?.message).toBe('beforeafter')
    expect(messages['an error with half a surrogate pair']?.message).toBe('half \uFFFD')
    expect(messages['an error with a megabyte of message']?.message).toMatch(/^x+ … \(truncated\)$/)
    expect(messages['an error with emoji']?.message).toMatch(/^(🔥)+ … \(truncated\)$/u)
    expect(messages['a plain object']?.message).toContain('E_PLAIN')
  })

  it('that rejects with anything at all is recorded as failed', async () => {
    for (const { how, execution } of await runAll('rejects', ['undefined', 'null', 'a text', 'a revoked proxy'])) {
      expect(execution, how).toMatchObject({ state: 'failed', outcome: 'paused_by_exception' })
    }
  })

  it('that returns what cannot be stored is recorded as failed, and nothing follows it', async () => {
    for (const { how, state, execution } of await runAll('returns', Object.keys(returned))) {
      expect(state, how).toBe('paused')
      expect(execution, how).toMatchObject({ state: 'failed', error: { className: returned[how]?.[1] } })
      expect(execution?.error?.message, how).toMatch(/^The output of step only of workflow \S+ /)
    }
    expect((await under.geneva.list(Breaks, { at: 'after' })).items).toEqual([])
  })

  it.each<[string, () => Promise<WorkflowHandle<any>>]>([
    ['of a class', () => under.geneva.start(Breaks, { input: { how: 'nothing', where: 'returns' } })],
    ['of a graph', () => under.geneva.startGraph(under.geneva.build(g => void g.node('only', { job: quiet })))],
  ])('%s whose input was damaged is recorded as failed, and can be resumed once it is whole', async (_, start) => {
    const wf = await start()
    const connection = await connectPlainly(database.name, under.url)
    const write = (input: string) =>
      connection.query(`update geneva_drive_workflows set input = '${input}' where id = ${wf.id}`)
    await write('{"$geneva":"nonsense","value":1}')
    await under.runDue()
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history())[0]).toMatchObject({ state: 'failed', error: { className: 'SchemaError' } })
    await write('{"how":"nothing","where":"returns"}')
    await connection.close()
    await wf.resume()
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
  })

  it('that cancels for any reason at all is canceled', async () => {
    for (const { how, state, execution } of await runAll('cancels', Object.keys(reasons))) {
      expect(state, how).toBe('canceled')
      expect(execution, how).toMatchObject({ outcome: 'canceled_by_flow_control' })
      expect(Buffer.byteLength(execution?.reason ?? ''), how).toBeLessThanOrEqual(10_000)
    }
  })
})
