/** docs/reference/events.md lists every event of the engine, with what it says, and the rules for events of applications. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { maxEventsPerRun, maxPayloadBytes, reservedPrefixes } from '../../src/definition/emit.ts'
import { fromStored } from '../../src/observe/event-from.ts'
import { maxBehind } from '../../src/observe/subscriber.ts'
import { engineEventTypes } from '../../src/store/records.ts'
import { quoted, readPage, root, tableUnder } from './markdown.ts'

const page = readPage('docs/reference/events.md')
const rows = tableUnder(page, 'Types')

it('every type is described once, in the order of the source', () => {
  expect(rows.flatMap(([type]) => quoted(type))).toEqual([...engineEventTypes])
})

it('what a type says besides is what its events have', () => {
  const shared = ['from', 'to', 'executionId', 'step', 'attempt']
  const general = tableUnder(page, 'What every event says').flatMap(([field]) => quoted(field))
  for (const [type, , more] of rows) {
    const event = fromStored({ ...stored, type: quoted(type)[0] ?? '' })
    const own = Object.keys(event).filter(key => !general.includes(key) && !shared.includes(key))
    expect(own, type).toEqual(quoted(more))
  }
})

it('the rules for names and payloads are those of the code', () => {
  const rules = tableUnder(page, 'Events of your own')
  expect(quoted(rules[1]?.[1])).toEqual([...reservedPrefixes])
  expect(rules[2]?.[1]).toContain(`${maxPayloadBytes / 1024} KiB`)
  expect(rules[3]?.[1]).toContain(maxEventsPerRun.toLocaleString('en'))
  expect(readPage('docs/guides/events.md').text).toContain(maxBehind.toLocaleString('en'))
})

it('the guide lists the options of `events`', () => {
  const source = readFileSync(join(root, 'src/observe/tail-events.ts'), 'utf8')
  const body = /export interface EventsOptions[^{]*\{(.*?)\n\}/s.exec(source)?.[1] ?? ''
  const declared = [...body.matchAll(/^ {2}readonly (\w+)\?/gm)].map(([, name]) => name)
  const listed = tableUnder(readPage('docs/guides/events.md'), 'Reading the record').flatMap(([name]) => quoted(name))
  expect(listed).toEqual(declared)
})

const stored = {
  id: '1',
  workflowId: '2',
  workflowType: 'Order',
  executionId: '3',
  node: 'ship',
  nodeName: null,
  attempt: 1,
  from: null,
  to: null,
  at: 0,
  by: null,
  reason: null,
  outcome: null,
  since: null,
  payload: null,
}
