/**
 * Reports of steps that others follow: the row of a step goes to its follower, and what it was is history. On PostgreSQL both ways are
 * run: that of servers whose updates return what was there before, and that of older ones.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { factsOfClaim } from '../../src/engine/assume.ts'
import type { AssumedFacts, WorkflowChange } from '../../src/store/change.ts'
import type { Database } from '../../src/store/sql/dialect.ts'
import { raw, render } from '../../src/store/sql/sql.ts'
import { SqlStore } from '../../src/store/sql/sql-store.ts'
import { databases, type TestDatabase } from '../support/databases.ts'
import { type Explaining, explainingDatabase } from '../support/explaining-database.ts'
import { finishedChange, handedOverChange, registerWorker, sampleSource, startSome } from '../support/open-store.ts'
import { planners } from '../support/planners.ts'
import { type Recording, recordingDatabase } from '../support/recording-database.ts'

interface Way {
  readonly title: string
  readonly database: TestDatabase
  readonly returnsOld?: false
}

const ways: readonly Way[] = databases.flatMap((database): Way[] => {
  const usual = { title: database.name, database }
  return database.name === 'postgres' ? [usual, { title: 'postgres before 18', database, returnsOld: false }] : [usual]
})

/** Databases keep the same JSON in different texts, and some drivers read it. */
function parsed(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value
}

describe.each(ways)('handing over on $title', ({ database, returnsOld }) => {
  let recording: Recording
  let store: SqlStore
  let explained: SqlStore
  let explaining: Explaining
  let real: Database

  beforeAll(async () => {
    real = await planners[database.name].open((await database.isolated()).url)
    if (database.name === 'postgres') expect(real.dialect.returnsOld ?? false).toBe(await isNewServer())
    recording = recordingDatabase(real)
    const dialect = returnsOld === undefined ? real.dialect : { ...real.dialect, returnsOld }
    store = new SqlStore({ ...recording.database, dialect }, {})
    await store.migrate()
    await registerWorker(store, 'w1')
    explaining = await explainingDatabase(real, planners[database.name])
    explained = new SqlStore({ ...explaining.database, dialect }, {})
    await explained.migrate()
  })
  afterAll(() => store.close())

  async function isNewServer(): Promise<boolean> {
    const [row] = await real.query(raw(`select current_setting('server_version_num') as version`))
    return Number(row?.version) >= 180000
  }

  const handsOver = () => (returnsOld ?? real.dialect.returnsOld) === true

  async function claim(count: number): Promise<AssumedFacts[]> {
    await startSome(store, count)
    const claimed = await store.claim({ workerId: 'w1', sources: [sampleSource], limit: count })
    expect(claimed).toHaveLength(count)
    return claimed.map(factsOfClaim)
  }

  /** Every third workflow ends, the others go on. */
  const decide = (facts: readonly AssumedFacts[]) =>
    Promise.all(
      facts.map((fact, index) =>
        index % 3 === 2
          ? finishedChange(fact)
          : handedOverChange(store, fact, index % 2 === 0 ? `{"n":${index}}` : null),
      ),
    )

  const write = (facts: readonly AssumedFacts[], changes: readonly WorkflowChange[]) =>
    store.changeAssumed(facts, changes, { workerId: 'w1', revision: null })

  it.each([1, 2, 3, 90])('of %i at once records what ended and begins what follows', async count => {
    const facts = await claim(count)
    const changes = await decide(facts)
    recording.take()
    const now = await write(facts, changes)
    expect(now).not.toBeNull()
    const texts = recording.take().map(statement => render(statement, real.dialect.placeholder).text)
    expect(texts.some(text => text.includes('returning old.'))).toBe(handsOver() && count > 1)
    for (const [index, { workflow, active }] of facts.entries()) {
      const [row] = active
      const [past, ...others] = await store.history(workflow.id)
      expect(others).toEqual([])
      expect(past).toMatchObject({
        id: row?.id,
        node: 'one',
        ordinal: 1,
        state: 'completed',
        outcome: 'success',
        createdAt: row?.createdAt,
        startedAt: row?.startedAt,
        endedAt: now,
      })
      const [stored] = await real.query(
        raw(`select output, ancestry_hash, parents from geneva_drive_step_executions where id = ${row?.id}`),
      )
      expect(stored).toMatchObject({ ancestry_hash: 'hash', parents: '' })
      expect(parsed(stored?.output)).toEqual(parsed(changes[index]?.endings[0]?.output))
      const rows = await store.activeExecutions(workflow.id)
      if (index % 3 === 2) expect(rows).toEqual([])
      else {
        const [next] = changes[index]?.replacements ?? []
        expect(rows).toEqual([
          expect.objectContaining({
            id: next?.id,
            node: 'two',
            ordinal: 2,
            state: 'in_progress',
            owner: 'w1',
            fence: (row?.fence ?? 0) + 1,
            startedAt: now,
            dueAt: now,
            input: expect.stringMatching(/"of": ?"two"/),
            ancestry: { hash: 'next', parents: [row?.id] },
          }),
        ])
      }
      expect((await store.findWorkflow(workflow.id))?.workflow.state).toBe(index % 3 === 2 ? 'finished' : 'ready')
    }
  })

  it.each([
    ['one that goes on', 1],
    ['one that ends', 2],
  ])('writes nothing for anybody where the claim of %s is lost', async (_, place) => {
    const facts = await claim(6)
    const changes = await decide(facts)
    const lost = facts[place]?.workflow.id ?? ''
    await real.run(raw(`update geneva_drive_active_executions set fence = fence + 1 where workflow_id = ${lost}`))
    expect(await write(facts, changes)).toBeNull()
    for (const { workflow, active } of facts) {
      expect(await store.history(workflow.id)).toEqual([])
      expect(await store.activeExecutions(workflow.id)).toEqual([
        expect.objectContaining({ id: active[0]?.id, node: 'one' }),
      ])
    }
    const held = facts.filter(({ workflow }) => workflow.id !== lost)
    expect(await write(held, await decide(held))).not.toBeNull()
  })

  it.each([
    ['one that goes on', 1, 'goes on'],
    ['one that ends', 1, 'ends'],
    ['two', 2, 'goes on'],
    ['three of which one ends', 3, 'goes on'],
    ['many of which some end', 40, 'goes on'],
  ] as const)('finds all that it locks, asks for and changes by key: of %s', async (_, count, outcome) => {
    for (const analyzed of [false, true]) {
      if (analyzed) for (const statement of planners[database.name].analyze) await real.query(raw(statement))
      const facts = await claim(count)
      const changes = outcome === 'ends' ? facts.map(finishedChange) : await decide(facts)
      const sent = await explaining.during(async () => {
        expect(await explained.changeAssumed(facts, changes, { workerId: 'w1', revision: 0 })).not.toBeNull()
      })
      const accesses = sent.flatMap(({ accesses }) => accesses)
      expect(accesses.filter(({ isWhole, isByKey }) => isWhole || !isByKey)).toEqual([])
      // Of the workflow and the worker once at least, also where nothing but the row goes on.
      const tables = accesses.map(({ table }) => table)
      expect(new Set(tables)).toEqual(new Set(['workflows', 'workers', 'limits', 'active_executions']))
      const ends = outcome === 'ends' || count > 2
      const updates = sent.filter(({ text }) => /update geneva_drive_workflows/.test(text.replaceAll(/\s+/g, ' ')))
      expect(updates.length > 0 || sent.some(({ text }) => /straight_join geneva_drive_workflows a/.test(text))).toBe(
        ends,
      )
    }
  })

  it('looks rows up no more often than the database makes it', async () => {
    const facts = await claim(40)
    const changes = await decide(facts)
    recording.take()
    await write(facts, changes)
    const texts = recording.take().map(statement => render(statement, real.dialect.placeholder).text)
    const looks = texts.flatMap(text => text.match(/\bgeneva_drive_active_executions\b/g) ?? [])
    // Once to go on and once to end, where what was there before is told. Else to be copied first, all at once; and where copies are
    // not counted, to be asked for before that.
    const most = { sqlite: 3, postgres: handsOver() ? 2 : 3, mysql: 4 }
    expect(looks).toHaveLength(most[database.name])
    if (database.name !== 'postgres') return
    const byKey = texts.flatMap(text => text.match(/a\.workflow_id = any\(array\[r\.workflow_id\]\)/g) ?? [])
    expect(byKey).toHaveLength(looks.length)
  })
})
