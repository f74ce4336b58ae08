/**
 * Several statements with one barrier behind them. `pg` sends a barrier behind every statement, and the server answers each
 * with a packet of its own, which costs more than most of our statements do. Only for statements that the connection has
 * prepared: the first time each goes by itself.
 */
import type { Writable } from 'node:stream'
import type pg from 'pg'
import type { Param } from '../sql/sql.ts'

/** A statement that the connection knows by name. */
export interface PreparedStatement {
  readonly name: string
  readonly text: string
  readonly values: readonly Param[]
}

export interface BatchAnswer {
  /** Of the statement that was to be read. */
  readonly rows: readonly Record<string, unknown>[]
  /** What the server says of each statement. */
  readonly commands: readonly string[]
}

/** What `pg` has, but does not declare. */
export interface Wire {
  readonly stream: Writable
  readonly parsedStatements: Readonly<Record<string, string | undefined>>
  bind(config: {
    portal: string
    statement: string
    values: readonly Param[]
    valueMapper(value: Param): unknown
  }): void
  describe(what: { type: 'P'; name: string }): void
  execute(config: { portal: string; rows: number }): void
  sync(): void
}

interface Answering {
  handleDataRow(message: unknown): void
}

type Done = (error: Error | null | undefined, result: pg.QueryResult) => void

/** Values stay text: the records decide what a column means. */
const textOnly = { getTypeParser: () => (value: string) => value }

/** `reads`: the place of the one statement whose rows are wanted. Rejects with the error of the first statement that fails. */
export function sendBatch(
  Query: typeof pg.Query,
  client: pg.PoolClient,
  statements: readonly PreparedStatement[],
  reads: number | null,
): Promise<BatchAnswer> {
  return new Promise((resolve, reject) => {
    const commands: string[] = []
    const done: Done = (error, result) => (error ? reject(error) : resolve({ rows: result.rows, commands }))
    client.query(new (batchClass(Query))({ statements, reads, commands }, done))
  })
}

interface Batch {
  readonly statements: readonly PreparedStatement[]
  readonly reads: number | null
  /** Filled with what the server says. */
  readonly commands: string[]
}

type BatchClass = new (batch: Batch, done: Done) => pg.Submittable

const made = new WeakMap<typeof pg.Query, BatchClass>()

/** `pg` takes no other class than its own on a connection that is pipelined, and it may not be installed. */
function batchClass(Query: typeof pg.Query): BatchClass {
  const known = made.get(Query)
  if (known !== undefined) return known
  const Base = Query as unknown as new (config: object) => pg.Query & Answering
  class BatchQuery extends Base {
    readonly #batch: Batch

    constructor(batch: Batch, done: Done) {
      super({ text: '', types: textOnly, callback: done })
      this.#batch = batch
      const handle = this as unknown as { submit(wire: Wire): null }
      handle.submit = wire => submit(wire, batch)
    }

    /** For whoever watches the driver: the driver itself has no use for it. */
    get text(): string {
      return this.#batch.statements.map(({ text }) => text).join(';\n')
    }

    /** The driver's own class sets one. */
    set text(_: string) {}

    override handleDataRow(message: unknown): void {
      if (this.#batch.commands.length === this.#batch.reads) super.handleDataRow(message)
    }

    handleCommandComplete({ text }: { readonly text: string }): void {
      this.#batch.commands.push(text)
    }
  }
  made.set(Query, BatchQuery)
  return BatchQuery
}

function submit(wire: Wire, { statements, reads }: Batch): null {
  wire.stream.cork()
  try {
    for (const [index, { name, values }] of statements.entries()) {
      wire.bind({ portal: '', statement: name, values, valueMapper })
      if (index === reads) wire.describe({ type: 'P', name: '' })
      wire.execute({ portal: '', rows: 0 })
    }
    wire.sync()
  } finally {
    wire.stream.uncork()
  }
  return null
}

function valueMapper(value: Param): string | null {
  return value === null ? null : String(value)
}
