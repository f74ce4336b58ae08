/**
 * Puts rows whose priority has grown to 100 in the order in which they fell due. Rows come so far in the order of their sort
 * keys, so it is enough to look at those that have passed the line since the last look. In a line with lanes a look goes
 * through some of them, and the next one goes on behind the last.
 */
import { highestPriority } from './aging.ts'
import type { SqlContext } from './context.ts'
import { int, optionalInt, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { lanesBehind } from './look-through-lanes.ts'
import { runTransaction } from './run-transaction.ts'
import { join, raw, type Sql, sql } from './sql.ts'

interface Source {
  readonly queue: string
  readonly handler: string
}

/** Rows of one lane, from a key on. */
interface Stretch extends Source {
  readonly lane: string
  readonly from: number
}

/** What has passed which line, and what the highest priority is worth in waiting. */
interface Span {
  readonly line: number
  readonly best: number
}

/** A walk through the lanes of a source. */
interface Round {
  readonly from: number
  /** The line when it began: lanes at its beginning were looked at up to there. */
  readonly line: number
  /** The lane behind which it goes on. */
  readonly after: string
  /** The smallest key that somebody held. */
  readonly left: number | null
}

/** How many rows of a stretch are written in one go. */
const batch = 500
/** How many stretches one statement looks at. SQLite allows 500. */
const stretches = 100
/** How many lanes of a source are looked at. */
const maxLanes = 200
/** What was committed late, by a transaction that had begun before, is found all the same. */
const overlap = 10_000_000

export class AgingLooks {
  readonly #context: SqlContext
  /** For each source up to which key nothing is left to be put in order. */
  readonly #plain = new Map<string, number>()
  readonly #lanes = new Map<string, number>()
  readonly #rounds = new Map<string, Round>()

  constructor(context: SqlContext) {
    this.#context = context
  }

  /** How many rows were put in order. */
  async look(sources: readonly Source[]): Promise<number> {
    const { weight, ages } = this.#context.aging
    if (!ages || sources.length === 0) return 0
    const best = weight * highestPriority
    const [clock] = await this.#context.read(sql`select ${this.#context.now} as now`)
    const span = { best, line: (clock === undefined ? 0 : int(clock, 'now')) - best }
    let count = 0
    for (const some of inParts(sources)) count += await this.#lookAtPlain(some, span)
    for (const some of inParts(sources)) {
      for (const source of await withLanes(this.#context, some)) count += await this.#lookThrough(source, span)
    }
    return count
  }

  async #lookAtPlain(sources: readonly Source[], span: Span): Promise<number> {
    const lines = sources.map(source => ({
      ...source,
      lane: '',
      from: beginning(this.#plain.get(keyOf(source)), span),
    }))
    const { count, left } = await putInOrder(this.#context, lines, span)
    for (const [index, line] of lines.entries()) this.#plain.set(keyOf(line), left.get(index) ?? span.line)
    return count
  }

  async #lookThrough(source: Source, span: Span): Promise<number> {
    const key = keyOf(source)
    const round = this.#roundOf(key, span)
    const rows = await this.#context.read(
      lanesBehind(this.#context, source, {
        after: round.after,
        most: maxLanes,
        head: firstPassed(this.#context, source, { ...span, from: round.from }),
      }),
    )
    const waiting = rows.filter(row => optionalInt(row, 'head') !== null)
    const lines = waiting.map(row => ({ ...source, lane: text(row, 'lane'), from: round.from }))
    let count = 0
    let { left } = round
    for (const some of inParts(lines)) {
      const done = await putInOrder(this.#context, some, span)
      count += done.count
      left = smallest([...(left === null ? [] : [left]), ...done.left.values()])
    }
    const last = rows.length < maxLanes ? undefined : rows.at(-1)
    if (last !== undefined) this.#rounds.set(key, { ...round, left, after: text(last, 'lane') })
    else {
      this.#rounds.delete(key)
      this.#lanes.set(key, left ?? round.line)
    }
    return count
  }

  #roundOf(key: string, span: Span): Round {
    const round = this.#rounds.get(key)
    if (round !== undefined && round.line <= span.line) return round
    return { from: beginning(this.#lanes.get(key), span), line: span.line, after: '', left: null }
  }
}

function keyOf({ queue, handler }: Source): string {
  return JSON.stringify([queue, handler])
}

/** A clock that was set back has lines to pass again. */
function beginning(before: number | undefined, { line }: Span): number {
  return before === undefined || before > line ? Number.MIN_SAFE_INTEGER : before - overlap
}

function* inParts<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < all.length; i += stretches) yield all.slice(i, i + stretches)
}

function smallest(keys: readonly number[]): number | null {
  return keys.length === 0 ? null : Math.min(...keys)
}

/** In most there are none: one look into the index for each tells. */
async function withLanes(context: SqlContext, sources: readonly Source[]): Promise<Source[]> {
  const looks = sources.map(
    (
      { queue, handler },
      index,
    ) => sql`select * from (select ${raw(String(index))} as place from ${context.tables.active} a
      where a.queue = ${queue} and a.handler = ${handler} and a.lane > '' and a.sort_key is not null limit 1)
      ${raw(`p${index}`)}`,
  )
  const places = new Set((await context.read(join(looks, ' union all '))).map(row => int(row, 'place')))
  return sources.filter((_, index) => places.has(index))
}

/** The key of the first row of a lane of the walk that is to be put in order. */
function firstPassed(context: SqlContext, { queue, handler }: Source, span: Span & { readonly from: number }): Sql {
  return sql`select a.sort_key from ${context.tables.active} a where a.queue = ${queue} and a.handler = ${handler}
    and a.lane = h.lane and ${hasPassed(span)} order by a.sort_key limit 1`
}

function hasPassed({ line, best, from }: Span & { readonly from: number }): Sql {
  return sql`a.sort_key >= ${from} and a.sort_key <= ${line} and a.sort_key > a.due_at - ${best}
    and a.due_at <= ${line + best}`
}

interface Done {
  readonly count: number
  /** By stretch, the smallest key that was left as it is, because somebody held its row. */
  readonly left: ReadonlyMap<number, number>
}

/** Goes on past what is held until it has come to the end of every stretch. */
async function putInOrder(context: SqlContext, lines: readonly Stretch[], span: Span): Promise<Done> {
  const left = new Map<number, number>()
  let count = 0
  let open = [...lines.entries()]
  while (open.length > 0) {
    const found = await context.read(
      join(
        open.map(entry => passed(context, entry, span)),
        ' union all ',
      ),
    )
    const written = await rewrite(context, found, span)
    count += written.size
    open = open.flatMap(([index, line]) => {
      const rows = found.filter(row => int(row, 'place') === index)
      const held = rows.filter(row => !written.has(rowOf(row))).map(row => int(row, 'sort_key'))
      const first = smallest([...held, ...(left.has(index) ? [left.get(index) ?? 0] : [])])
      if (first !== null) left.set(index, first)
      if (rows.length < batch) return []
      const last = Math.max(...rows.map(row => int(row, 'sort_key')))
      // Others may have the same key as the last; where all are held there is no use in looking at them again.
      return [[index, { ...line, from: held.length < rows.length ? last : last + 1 }]]
    })
  }
  return { count, left }
}

function passed(context: SqlContext, [index, line]: readonly [number, Stretch], span: Span): Sql {
  return sql`select * from (select ${raw(String(index))} as place, a.workflow_id, a.slot, a.sort_key
    from ${context.tables.active} a where a.queue = ${line.queue} and a.handler = ${line.handler}
    and a.lane = ${line.lane} and ${hasPassed({ ...span, from: line.from })} order by a.sort_key limit ${batch})
    ${raw(`p${index}`)}`
}

function rowOf(row: Row): string {
  return JSON.stringify([text(row, 'workflow_id'), text(row, 'slot')])
}

/** What somebody holds is claimed or changed just now; if it still stands in line after that, it is found again. */
async function rewrite(context: SqlContext, found: readonly Row[], { best }: Span): Promise<ReadonlySet<string>> {
  if (found.length === 0) return new Set()
  const keys = (rows: readonly Row[]) =>
    context.rows('r', {
      columns: { workflow_id: 'id', slot: 'text' },
      rows: rows.map(row => [text(row, 'workflow_id'), text(row, 'slot')]),
    })
  const on = context.sameRow
  return runTransaction(context.database, async transaction => {
    const locked = await transaction.query(
      sql`select a.workflow_id, a.slot from ${keys(found)} ${context.dialect.keyedJoin} ${context.tables.active} a on ${on}
        where a.sort_key > a.due_at - ${best} and a.due_at <= ${context.now}${context.dialect.lockSkipping}`,
    )
    if (locked.length === 0) return new Set()
    const assignments = [['sort_key', sql`a.due_at - ${best}`]] as const
    await transaction.run(context.dialect.updateFrom(context.tables.active, keys(locked), on, assignments))
    return new Set(locked.map(rowOf))
  })
}
