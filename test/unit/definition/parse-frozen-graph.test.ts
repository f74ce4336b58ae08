/** Reading graphs from outside: each mistake is named with its node and field, and nothing gets in that was not checked. */
import { describe, expect, it } from 'vitest'
import { defaultGraphLimits } from '../../../src/definition/graph-limits.ts'
import { parseFrozenGraph } from '../../../src/definition/parse-frozen-graph.ts'
import { edited, exported, keep, nodeNamed, sweep, thrownBy } from './sample-graphs.ts'

function refusalOf(json: unknown, options?: Parameters<typeof parseFrozenGraph>[1]): string {
  const error = thrownBy(() => parseFrozenGraph(json, options))
  expect(error.code).toBe('INVALID_GRAPH')
  return error.message
}

/** JSON text keeps keys that an object literal would turn into something else. */
const withText = (edit: (text: string) => string) => edit(JSON.stringify(edited(() => {})))

describe('the document', () => {
  it.each<[string, unknown, string]>([
    ['text that is no JSON', '{', 'is not JSON'],
    ['nothing', undefined, 'is not JSON: it is a undefined'],
    ['a value that JSON cannot hold', { nodes: 5n }, 'is not JSON'],
    ['a list', [], 'must be an object'],
    ['null', 'null', 'must be an object'],
    ['no version', {}, 'has the version undefined'],
    ['a newer version', edited(graph => Object.assign(graph, { version: 2 })), 'newer release'],
    ['an unknown field', edited(graph => Object.assign(graph, { state: {} })), 'no option state'],
    ['no time', edited(graph => Object.assign(graph, { frozen_at: undefined })), 'frozen_at'],
    ['a time that is none', edited(graph => Object.assign(graph, { frozen_at: 'yesterday' })), 'frozen_at'],
    ['no nodes', edited(graph => Object.assign(graph, { nodes: undefined })), 'its nodes must be an object'],
    ['a list of nodes', edited(graph => Object.assign(graph, { nodes: [] })), 'its nodes must be an object'],
    ['a stop grace that is no number', edited(graph => Object.assign(graph, { stop_grace_ms: '5s' })), 'stop_grace_ms'],
    ['a stop grace before now', edited(graph => Object.assign(graph, { stop_grace_ms: -1 })), 'stop_grace_ms'],
    ['a deadline that is no number', edited(graph => Object.assign(graph, { deadline_ms: '1 day' })), 'deadline_ms'],
    ['a deadline that leaves no time', edited(graph => Object.assign(graph, { deadline_ms: 0 })), 'a deadline of 0'],
    ['a deadline that does something else', edited(graph => Object.assign(graph, { on_deadline: 'fail' })), "'pause'"],
    ['a template that is no object', edited(graph => Object.assign(graph, { template: 'x' })), 'template must be'],
    [
      'a template without name',
      edited(graph => Object.assign(graph, { template: { args: {} } })),
      'template: its name',
    ],
    [
      'a template with damaged arguments',
      edited(graph => Object.assign(graph, { template: { name: 'x', args: { $geneva: 'date', value: 'x' } } })),
      'template: its args cannot be read',
    ],
  ])('is refused if it is or has %s', (_what, json, message) => {
    expect(refusalOf(json)).toContain(message)
  })

  it('keeps what it was expanded from', () => {
    const template = { name: 'report', args: { at: { $geneva: 'date', value: '2024-01-01T00:00:00.000Z' } } }
    expect(parseFrozenGraph(edited(graph => Object.assign(graph, { template }))).template).toEqual(template)
  })
})

describe('a node', () => {
  it.each<[string, (node: any) => void, string]>([
    ['no name', node => delete node.name, 'its name is a undefined'],
    ['a name with /', node => Object.assign(node, { name: 'a/b' }), 'its name contains # or /'],
    ['an unknown field', node => Object.assign(node, { dependsOn: [] }), 'no option dependsOn'],
    ['neither job nor method', node => delete node.job, 'a job or a method'],
    ['both job and method', node => Object.assign(node, { method: 'x' }), 'and not both'],
    ['a job that is no name', node => Object.assign(node, { job: 5 }), 'its job is a number'],
    ['a job that is too long', node => Object.assign(node, { job: 'j'.repeat(188) }), 'is longer than 187'],
    [
      'a compensation that is too long',
      node => Object.assign(node, { compensation: { name: 'j'.repeat(188) } }),
      'is longer than 187',
    ],
    [
      'a name of an each that is too long',
      node => Object.assign(node, { kind: 'each', name: 'e'.repeat(183) }),
      'its name is longer than 182',
    ],
    ['a kind that does not exist', node => Object.assign(node, { kind: 'item' }), 'its kind must be one of'],
    ['a concurrency without items', node => Object.assign(node, { concurrency: 2 }), 'belongs to the kind each'],
    ['a concurrency of 0', node => Object.assign(node, { kind: 'each', concurrency: 0 }), 'at least 1'],
    ['items and a job', node => Object.assign(node, { kind: 'each' }), 'a node of the kind each has a method'],
    ['no dependencies', node => delete node.depends_on, 'its depends_on must be a list'],
    ['a dependency that is no id', node => Object.assign(node, { depends_on: [5] }), 'its depends_on must be a list'],
    ['a dependency that does not exist', node => Object.assign(node, { depends_on: ['n_0'] }), 'no node has that id'],
    ['an inherited dependency', node => Object.assign(node, { depends_on: ['toString'] }), 'no node has that id'],
    ['args that are no object', node => Object.assign(node, { args: [1] }), 'its args must be an object'],
    ['args with an unknown tag', node => Object.assign(node, { args: { a: { $geneva: 'x' } } }), 'the tag "x"'],
    ['args with a damaged date', node => Object.assign(node, { args: tagged('date', 'soon') }), 'soon is no date'],
    ['args with a damaged reference', node => Object.assign(node, { args: tagged('output', 5) }), 'the tag "output"'],
    ['args with damaged references', node => Object.assign(node, { args: tagged('outputs', [5]) }), 'tag "outputs"'],
    ['args that refer to no node', node => Object.assign(node, { args: tagged('output', 'n_0') }), 'no such node'],
    ['a wait that is no number', node => Object.assign(node, { wait_ms: '5s' }), 'its wait_ms must be a number'],
    ['a negative wait', node => Object.assign(node, { wait_ms: -5 }), 'the wait'],
    ['a queue that is no name', node => Object.assign(node, { queue: null }), 'the queue name'],
    ['a priority out of range', node => Object.assign(node, { priority: 500 }), 'the priority'],
    ['a retry that is none', node => Object.assign(node, { retry: [] }), 'retry is a number'],
    ['a policy that does not exist', node => Object.assign(node, { on_exception: 'explode' }), '"explode"'],
    ['a list of policies', node => Object.assign(node, { on_exception: [] }), 'onException is stored'],
    ['metadata that is no object', node => Object.assign(node, { metadata: 5 }), 'its metadata must be an object'],
    [
      'damaged metadata',
      node => Object.assign(node, { metadata: tagged('bigint', 'x') }),
      'its metadata cannot be read',
    ],
  ])('with %s is refused, naming it', (_what, edit, message) => {
    const json = edited((_graph, _first, second) => edit(second))
    const [, id] = Object.keys((json as { nodes: object }).nodes)
    const refusal = refusalOf(json)
    expect(refusal).toContain(message)
    expect(refusal.includes(`${id}`) || refusal.includes('"second"')).toBe(true)
  })

  function tagged(tag: string, value: unknown) {
    return { x: { $geneva: tag, value } }
  }

  it.each([
    ['each', 'e'.repeat(183), 'is longer than 182'],
    ['join', `${'j'.repeat(187)}#join`, 'is longer than 186'],
    ['join', 'j'.repeat(192), 'is longer than 191'],
    ['step', 's'.repeat(192), 'is longer than 191'],
  ])('of the kind %s with an id that is too long is refused', (kind, id, message) => {
    const json = edited((graph, _first, second) => Object.assign(graph.nodes, { [id]: { ...second, kind, name: 'x' } }))
    expect(refusalOf(json)).toContain(`The node id ${JSON.stringify(id.slice(0, 60))} ${message}`)
  })

  it('that is no object is refused', () => {
    expect(refusalOf(edited(graph => Object.assign(graph.nodes, { n_1: 5 })))).toContain('Node n_1 must be an object')
  })

  it('with the name of another is refused', () => {
    expect(refusalOf(edited((_graph, first, second) => Object.assign(second, { name: first.name })))).toMatch(
      /The nodes n_\w+ and n_\w+ are both named "first"/,
    )
  })

  it('with the id of another as its name is refused, since requests name nodes by either', () => {
    const json = edited((graph, _first, second) => Object.assign(second, { name: Object.keys(graph.nodes)[0] }))
    expect(refusalOf(json)).toContain('has the id of another node as its name')
  })

  it('that depends on itself, or in a circle, is refused', () => {
    const [itself, circle] = [0, 1].map(which =>
      edited((graph, first) => Object.assign(first, { depends_on: [Object.keys(graph.nodes)[which]] })),
    )
    expect(refusalOf(itself)).toContain('Node "first" (n_')
    expect(refusalOf(itself)).toContain('depends on itself')
    expect(refusalOf(circle)).toMatch(/"first" → "second" → "first"|"second" → "first" → "second"/)
  })

  it('that refers to an output it cannot have, its own included, is refused', () => {
    for (const which of [0, 1]) {
      const json = edited((graph, first) => {
        first.args = { value: { $geneva: 'output', value: Object.keys(graph.nodes)[which] } }
      })
      expect(refusalOf(json)).toContain('does not come after that node')
    }
  })

  it('with a job or method that is not known is refused where that is asked for', () => {
    const graph = edited((_graph, first) => {
      delete first.job
      first.method = 'charge'
    })
    expect(parseFrozenGraph(graph).nodes).toBeDefined()
    expect(refusalOf(graph, { knowsJob: () => false })).toContain('its job "add" is not known here')
    expect(refusalOf(graph, { knowsMethod: () => false })).toContain('its method "charge" is not known here')
    expect(parseFrozenGraph(graph, { knowsJob: () => true, knowsMethod: () => true }).nodes).toBeDefined()
  })

  it('may be written with what goes without saying', () => {
    const json = edited((graph, first, second) => {
      Object.assign(first, { kind: 'step', wait_ms: 0 })
      const [id] = Object.keys(graph.nodes)
      second.depends_on = [id, id]
    })
    const graph = parseFrozenGraph(json)
    expect(Object.keys(nodeNamed(graph, 'first'))).toEqual(['name', 'job', 'depends_on'])
    expect(nodeNamed(graph, 'second').depends_on).toHaveLength(1)
  })
})

describe('what comes from outside', () => {
  it.each(['__proto__', 'constructor', 'toString', '', 'a/1', 'a#1', 'x'.repeat(192)])(
    'cannot have a node with the id %s',
    id => {
      const text = withText(text => text.replace('"nodes":{', `"nodes":{${JSON.stringify(id)}:{"name":"x"},`))
      expect(refusalOf(text)).toMatch(/^The node id /)
      expect(({} as { name?: string }).name).toBeUndefined()
    },
  )

  it('changes no prototype through arguments or metadata', () => {
    const hostile = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const text = withText(text => text.replace('"args":{"a":1}', `"args":${hostile},"metadata":${hostile}`))
    const { args, metadata } = nodeNamed(parseFrozenGraph(text), 'second')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype)
    expect(JSON.stringify(args)).toBe(hostile)
    expect(JSON.stringify(metadata)).toBe(hostile)
  })

  it('is written anew, so that every database can hold it', () => {
    const text = withText(text => text.replace('"args":{"a":1}', '"args":{"a":"x\\u0000y"}'))
    expect(nodeNamed(parseFrozenGraph(text), 'second').args).toEqual({ a: { $geneva: 'text', value: 'eAAAAHkA' } })
  })

  it('is refused where it is nested beyond measure', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    expect(refusalOf(withText(text => text.replace('"a":1', `"a":${deep}`)))).toContain('its args')
  })

  it('is a copy: the caller may go on with what it gave', () => {
    const json = edited(() => {}) as any
    const graph = parseFrozenGraph(json)
    for (const node of Object.values<any>(json.nodes)) node.depends_on.push('x')
    expect(Object.values(graph.nodes).flatMap(node => node.depends_on)).not.toContain('x')
  })
})

describe('the size of a graph from outside', () => {
  const text = exported(w => {
    const parts = w.fanOut(['a', 'b'], { name: item => item, job: sweep })
    w.node('c', { job: keep, args: { value: parts.outputs } })
  })

  it.each<['nodes' | 'edges' | 'bytes', number]>([
    ['nodes', 3],
    ['edges', 2],
    ['bytes', Buffer.byteLength(text)],
  ])('is limited in %s', (limit, count) => {
    const parse = (allowed: number) => parseFrozenGraph(text, { limits: { ...defaultGraphLimits, [limit]: allowed } })
    expect(Object.keys(parse(count).nodes)).toHaveLength(3)
    expect(thrownBy(() => parse(count - 1))).toMatchObject({ code: 'GRAPH_TOO_LARGE', limit })
  })
})
