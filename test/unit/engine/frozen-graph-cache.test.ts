/** Graphs of workflows that are kept in a process: read once, found by their signature, and gone with their workflow. */
import { expect, it } from 'vitest'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import { defineJob } from '../../../src/definition/job.ts'
import { Courses } from '../../../src/engine/courses.ts'
import { FrozenGraphCache } from '../../../src/engine/frozen-graph-cache.ts'
import { storedForm } from '../../../src/engine/stored-form.ts'
import type { WorkflowRecord } from '../../../src/store/records.ts'
import type { Store, StoredFrozenGraph } from '../../../src/store/store.ts'

const job = defineJob('work', () => 1)

function stored(...names: string[]): StoredFrozenGraph {
  const graph = buildGraph(w => {
    for (const name of names) w.node(name, { job })
  })
  return storedForm(graph.freeze('2026-11-17T00:00:00Z'))
}

const one = stored('a')
const other = stored('a', 'b')
const workflow = (frozen = one.signature) => ({ id: '1', type: '', frozen }) as WorkflowRecord

/** A store that knows one workflow, and how often it was asked for its graph. */
function opened() {
  const asked: string[] = []
  const store = {
    frozenGraphs: async (ids: readonly string[]) => {
      asked.push(...ids)
      return new Map(ids.map(id => [id, one]))
    },
  } as unknown as Store
  return { asked, store, cache: new FrozenGraphCache(store) }
}

it('a graph is read once, and again when its workflow has ended', async () => {
  const { asked, cache } = opened()
  await cache.of([workflow()])
  await cache.of([workflow()])
  expect(asked).toEqual(['1'])
  cache.drop('1')
  expect(cache.find(workflow())).toBeNull()
  expect((await cache.of([workflow()])).get('1')?.graph.size).toBe(1)
  expect(asked).toEqual(['1', '1'])
})

it('a graph that was replaced is not taken for the one that replaces it, nor the other way round', () => {
  const { cache } = opened()
  cache.keep('1', '', one)
  expect(cache.find(workflow(other.signature))).toBeNull()
  cache.keep('1', '', other)
  expect(cache.find(workflow(other.signature))?.graph.size).toBe(2)
  expect(cache.find(workflow())).toBeNull()
})

it('a graph that was read before it is kept is the one that is kept', () => {
  const { cache } = opened()
  const prepared = cache.prepare('', one)
  expect(cache.find(workflow())).toBeNull()
  expect(cache.keep('1', '', one)).toBe(prepared)
  expect(cache.keep('1', 'Other', one)).not.toBe(prepared)
})

it('a graph that is gone from the database, as it is with a workflow that was pruned, is left out', async () => {
  const store = { frozenGraphs: async () => new Map() } as unknown as Store
  expect((await new FrozenGraphCache(store).of([workflow()])).size).toBe(0)
  expect((await new Courses(store, { definitions: [] } as never).of([workflow()])).size).toBe(0)
})

it('a course that was remembered is forgotten with its workflow', async () => {
  const { asked, store } = opened()
  const courses = new Courses(store, { definitions: [] } as never)
  const record = workflow()
  courses.keepFrozen(record, one)
  expect(courses.known(record)?.graph.size).toBe(1)
  courses.dropFrozen('2')
  expect(courses.known(record)).not.toBeNull()
  courses.dropFrozen('1')
  expect(courses.known(record)).toBeNull()
  expect((await courses.of([record])).get('1')?.graph.size).toBe(1)
  expect(asked).toEqual(['1'])
})
