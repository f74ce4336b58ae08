/** Records from the application's own queries, page by page: none lost and none seen twice, wherever the step stops. */
import { sql } from 'drizzle-orm'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  fromDrizzle,
  fromKysely,
  fromSql,
  type Iteration,
  type RecordPlace,
  type RecordSource,
  Workflow,
} from '../../src/index.ts'
import { decodeValue, encodeValue } from '../../src/primitives/json-codec.ts'
import { type DatabaseName, forEachDatabase } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { connectWithValues } from './record-sources/connect-with-values.ts'
import { mysqlLibraries } from './record-sources/on-mysql.ts'
import { postgresLibraries } from './record-sources/on-postgres.ts'
import { sqliteLibraries } from './record-sources/on-sqlite.ts'
import { createReadings, type Library, type OpenLibrary, type Reading, type Wanted } from './record-sources/readings.ts'

const libraries: Record<DatabaseName, Readonly<Record<string, OpenLibrary>>> = {
  postgres: postgresLibraries,
  mysql: mysqlLibraries,
  sqlite: sqliteLibraries,
}
const timeTypes: Record<DatabaseName, string> = { postgres: 'timestamptz', mysql: 'datetime(6)', sqlite: 'text' }

const pageSize = 4
const ties = [3, 3, 1, 2, 2, 2, 2, 2, 2, 3, 1, 2, 3, 1]
/** By time and then by id, as the database would put it. */
const tiesInOrder = ties
  .map((time, index) => ({ time, label: `t${index}` }))
  .toSorted((a, b) => a.time - b.time)
  .map(({ label }) => label)
const micros = [7, 5, 3, 8, 1, 9, 4, 6, 2]
const microsInOrder = micros
  .map((time, index) => ({ time, label: `m${index}` }))
  .toSorted((a, b) => a.time - b.time)
  .map(({ label }) => label)

let source: (wanted: Wanted) => RecordSource<Reading, RecordPlace>
/** What each run of a workflow has met. */
const runs = new Map<string, string[][]>()

/** One class for each number of items after which it stops, so that it stops at every place of a page. */
const stopping = [1, 2, 3, 4, 5, 6].map(
  every =>
    class extends Workflow<null, Wanted & { batches?: boolean }> {
      static {
        this.named(`StopsAfter${every}`)
        this.allowMultiple()
        this.resumableStep('read', { yieldEvery: every })
      }
      async read(iter: Iteration<RecordPlace>) {
        const run: string[] = []
        runs.set(this.id, [...(runs.get(this.id) ?? []), run])
        const { batches, ...wanted } = this.input
        if (batches) {
          for await (const page of iter.batches(source(wanted), { size: pageSize })) run.push(...page.map(r => r.label))
        } else {
          for await (const { label } of iter.records(source(wanted), { size: pageSize })) run.push(label)
        }
      }
    },
)

forEachDatabase('record sources', database => {
  const under = useGeneva(database, { workflows: stopping, worker: true })
  let plain: PlainConnection

  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    runs.clear()
    await plain.query(createReadings(timeTypes[database.name]))
    const time = (offset: number) => `2024-01-01 00:00:00.${String(offset).padStart(6, '0')}`
    const rows = [
      ...ties.map((second, index) => ['ties', `t${index}`, `2024-01-01 00:00:0${second}`, second]),
      ...micros.map((offset, index) => ['micros', `m${index}`, time(offset), offset]),
      ['holes', 'h0', time(1), 1, time(1)],
      ['holes', 'h1', time(2), 2, null],
    ].map(([series, label, takenAt, score, notedAt = null], id) =>
      [id, series, label, takenAt, score, notedAt].map(value =>
        typeof value === 'string' ? `'${value}'` : String(value),
      ),
    )
    await plain.query(
      `insert into readings (id, series, label, taken_at, score, noted_at) values ${rows.map(row => `(${row.join(',')})`).join(',')}`,
    )
  })
  afterAll(() => plain.close())

  /** What each run of a workflow has met. */
  async function read(workflowClass: (typeof stopping)[number] | undefined, input: Wanted & { batches?: boolean }) {
    if (workflowClass === undefined) throw new Error('There is no such class.')
    const wf = await under.geneva.start(workflowClass, { input })
    await wf.waitUntilFinished({ timeout: '20s' })
    return runs.get(wf.id) ?? []
  }

  for (const [name, open] of Object.entries(libraries[database.name])) {
    describe(name, () => {
      let library: Library
      beforeAll(async () => {
        library = await open(under.url)
        source = wanted => library.readings(wanted)
      })
      afterAll(() => library.close())

      it('meets records with equal values once each, wherever a page or a run ends', async () => {
        const found = await Promise.all(stopping.map(each => read(each, { series: 'ties', by: 'taken_at' })))
        expect(found.map(each => each.flat())).toEqual(stopping.map(() => tiesInOrder))
        expect(found.map(each => each[0]?.length)).toEqual([1, 2, 3, 4, 5, 6])
      })

      it('tells records apart that differ in microseconds only', async () => {
        const found = await read(stopping[0], { series: 'micros', by: 'taken_at' })
        expect(found.flat()).toEqual(microsInOrder)
        expect(await walk(library.readings({ series: 'micros', by: 'taken_at' }), 1)).toEqual(microsInOrder)
      })

      it('gives a batch at a time', async () => {
        const found = await read(stopping[0], { series: 'ties', by: 'score', batches: true })
        expect(found.flat()).toEqual(tiesInOrder)
        expect(found.slice(0, 3).map(run => run.length)).toEqual([4, 4, 4])
      })

      it('goes the other way round, and by the id alone', async () => {
        const backwards = library.readings({ series: 'ties', by: 'score', order: 'desc' })
        expect(await walk(backwards, 3)).toEqual(tiesInOrder.toReversed())
        const times = library.readings({ series: 'micros', by: 'taken_at', order: 'desc' })
        expect(await walk(times, 2)).toEqual(microsInOrder.toReversed())
        const byId = library.readings({ series: 'ties' })
        expect(await walk(byId, 5)).toEqual(ties.map((_, index) => `t${index}`))
        expect(await walk(library.readings({ series: 'ties', order: 'desc' }), 5)).toHaveLength(ties.length)
      })

      it('gives the records as they were selected', async () => {
        const [first] = await library.readings({ series: 'ties', by: 'taken_at' }).fetch(null, 1)
        expect(first).toMatchObject({ id: 2, label: 't2' })
        expect(Object.keys(first ?? {}).filter(key => key.startsWith('geneva'))).toEqual([])
      })

      it('refuses records without a value in the cursor column, before it gives any', async () => {
        const holes = library.readings({ series: 'holes', by: 'noted_at' })
        await expect(async () => holes.fetch(null, 10)).rejects.toThrow(/without a value \(NULL\) in the cursor column/)
        expect(await library.readings({ series: 'holes' }).fetch(null, 10)).toHaveLength(2)
      })
    })
  }
})

/** Fetches to the end the way the iterators do, a place at a time. */
async function walk({ fetch, cursorOf }: RecordSource<Reading, RecordPlace>, size: number): Promise<string[]> {
  const labels: string[] = []
  let after: RecordPlace | null = null
  for (;;) {
    const page: readonly Reading[] = await fetch(after, size)
    const last = page.at(-1)
    if (last === undefined || labels.length > 100) return labels
    labels.push(...page.map(({ label }) => label))
    after = cursorOf(last)
  }
}

const kinds: Partial<Record<DatabaseName, Record<string, readonly string[]>>> = {
  postgres: {
    'timestamp without zone': ["timestamp '2024-01-01 00:00:00.000001'", "timestamp '2024-01-01 00:00:00.000002'"],
    'time before our era': [
      "timestamptz '0044-03-15 12:00:00.5 BC'",
      "timestamptz '2024-01-01'",
      "timestamptz 'infinity'",
    ],
    date: ["date '2024-01-01'", "date '2024-01-02'"],
    bigint: ['9007199254740993::bigint', '9007199254740994::bigint', '9007199254740995::bigint'],
    numeric: ['1.000000000000000000001::numeric', '1.000000000000000000002::numeric'],
    'upper case and quotes': [`'A"'::text`, `'a''b'::text`, "'ä'::text"],
    uuid: ["'00000000-0000-0000-0000-000000000001'::uuid", "'10000000-0000-0000-0000-000000000000'::uuid"],
    bytes: ["'\\x00ff'::bytea", "'\\x0100'::bytea"],
  },
  mysql: {
    timestamp: ["timestamp '2024-01-01 00:00:00.000001'", "timestamp '2024-01-01 00:00:00.000002'"],
    date: ["date '2024-01-01'", "date '2024-01-02'"],
    decimal: ['cast(1234567890.0000000001 as decimal(30,10))', 'cast(1234567890.0000000002 as decimal(30,10))'],
    bytes: ["x'00ff'", "x'0100'"],
  },
  sqlite: {
    integer: ['1', '2', '10'],
    text: ["'a'", "'b'", "'ä'"],
    bytes: ["x'00ff'", "x'0100'"],
  },
}

forEachDatabase('a cursor column', database => {
  let connection: Awaited<ReturnType<typeof connectWithValues>>
  beforeAll(async () => {
    connection = await connectWithValues(database.name, (await database.isolated()).url)
  })
  afterAll(() => connection.close())

  for (const [kind, values] of Object.entries(kinds[database.name] ?? {})) {
    it(`may hold ${kind}`, async () => {
      // Every value twice, with ids against its order.
      const rows = values.flatMap((value, index) => [
        `select ${100 - index} as id, ${value} as at`,
        `select ${200 - index} as id, ${value} as at`,
      ])
      const found = fromSql({
        select: rows.join(' union all '),
        by: 'at',
        id: 'id',
        placeholder: database.name === 'postgres' ? '$' : '?',
        query: connection.query,
      })
      const ids: number[] = []
      let after: RecordPlace | null = null
      while (ids.length <= rows.length) {
        const [next] = await found.fetch(after, 1)
        if (next === undefined) break
        ids.push(next.id)
        // As it comes back from the database between two runs.
        after = decodeValue(encodeValue(found.cursorOf(next), { what: 'The cursor', maxBytes: 1000 })) as RecordPlace
      }
      expect(ids).toEqual(values.flatMap((_, index) => [100 - index, 200 - index]))
    })
  }
})

describe('a source', () => {
  const query = async () => []
  const valid = { select: 'select 1', id: 'id', query }

  it('takes nothing but plain names into its statement', () => {
    for (const by of ['id; drop table readings', 'a.b', '"id"', 'id desc', '', '1d', 'x'.repeat(64)]) {
      expect(() => fromSql({ ...valid, by })).toThrow(/must be the plain name of a column/)
      expect(() => fromSql({ ...valid, id: by })).toThrow(/must be the plain name of a column/)
    }
  })

  it('says which part is wrong', () => {
    expect(() => fromSql({ ...valid, select: ' ; ' })).toThrow(/`select` must be/)
    expect(() => fromSql({ ...valid, placeholder: ':' as never })).toThrow(/`placeholder` must be '\$' or '\?'/)
    expect(() => fromSql({ ...valid, order: 'up' as never })).toThrow(/'asc' or 'desc'/)
    expect(() => fromSql({ ...valid, query: undefined as never })).toThrow(/`query` must be a function/)
  })

  it('binds a value in the first page already, so that a wrong placeholder fails at once', async () => {
    const sent: unknown[] = []
    const spy = async (text: string, values: unknown[]) => {
      sent.push([text.replace(/\s+/g, ' '), values])
      return []
    }
    await fromSql({ ...valid, select: 'select a from b where c = ?', values: [5], placeholder: '?', query: spy }).fetch(
      null,
      3,
    )
    expect(sent).toEqual([
      [
        'select genevarecords.*, genevarecords.id as genevaid from (select a from b where c = ? ) as genevarecords where 1 = ? order by genevarecords.id asc limit 3',
        [5, 1],
      ],
    ])
  })

  it('refuses a Kysely query that has an end of its own, and what is no query', () => {
    const db = new Kysely<{ readings: Reading }>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: each => new SqliteIntrospector(each),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    })
    const all = db.selectFrom('readings').selectAll()
    for (const query of [all.orderBy('label'), all.limit(5), all.offset(5), all.union(all)]) {
      expect(() => fromKysely(query, { id: 'id' })).toThrow(/make the query a subquery/)
    }
    expect(() => fromKysely(all, { id: 'readings.id' })).not.toThrow()
    expect(() => fromKysely(all, { id: 'readings.id; drop table readings' })).toThrow(/plain name of a column/)
    expect(() => fromKysely(db as never, { id: 'id' as never })).toThrow(/needs a select query/)
  })

  it('refuses a Drizzle query without its parts, and one that does not select the place', async () => {
    const id = {}
    expect(() => fromDrizzle(undefined as never, { id, sql })).toThrow(/fromDrizzle needs a function/)
    expect(() => fromDrizzle(async () => [], { id: 'id' as never, sql })).toThrow(/fromDrizzle needs a function/)
    expect(() => fromDrizzle(async () => [], { id, sql: undefined as never })).toThrow(/fromDrizzle needs a function/)
    const forgetful = fromDrizzle(async () => [{ id: 5 }], { id, sql })
    await expect(async () => forgetful.fetch(null, 1)).rejects.toThrow(/selects `...page.place`/)
  })

  it('refuses what is no list of rows', async () => {
    const result = fromSql({ ...valid, query: (async () => ({ rows: [] })) as never })
    await expect(async () => result.fetch(null, 1)).rejects.toThrow(/must be a list of rows/)
    const arrays = fromSql({ ...valid, query: (async () => [[1]]) as never })
    await expect(async () => arrays.fetch(null, 1)).rejects.toThrow(/genevaid/)
  })

  it('refuses a number that the driver has rounded', async () => {
    const rounded = fromSql<any>({ ...valid, query: async () => [{ id: 2 ** 53, genevaid: 2 ** 53 }] })
    await expect(async () => rounded.fetch(null, 1)).rejects.toThrow(/lost its last digits/)
  })

  it('refuses a cursor that another source has written', async () => {
    const byId = fromSql(valid)
    await expect(async () => byId.fetch(5 as never, 1)).rejects.toThrow(/was not written by this source/)
    await expect(async () => byId.fetch({ by: 5, id: 5 }, 1)).rejects.toThrow(/was not written by this source/)
    expect(() => byId.cursorOf({ id: 5 } as never)).toThrow(/Only records that this source has fetched/)
  })
})
