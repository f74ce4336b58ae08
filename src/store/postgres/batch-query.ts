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
  /** The first column of the first row of the statement that was to be read. */
  readonly value: string | null
  /** What the server says of each statement. */
  readonly commands: readonly string[]
}

/** What `pg` has, but does not declare. */
export interface Wire {
  readonly stream: Writable
  readonly parsedStatements: Readonly<Record<string, string | undefined>>
  bind(config: BoundStatement): void
  execute(config: { readonly portal: string; readonly rows: number }): void
  sync(): void
}

interface BoundStatement {
  readonly portal: string
  readonly statement: string
  readonly values: readonly Param[]
  valueMapper(value: Param): string | null
}

type Done = (error?: Error | null) => void

interface Batch {
  readonly statements: readonly PreparedStatement[]
  readonly reads: number | null
  /** These are filled with what the server says. */
  value: string | null
  readonly commands: string[]
}

/** `reads`: the place of the one statement whose answer is wanted. Rejects with the error of the first statement that fails. */
export function sendBatch(
  Query: typeof pg.Query,
  client: pg.PoolClient,
  statements: readonly PreparedStatement[],
  reads: number | null,
): Promise<BatchAnswer> {
  return new Promise((resolve, reject) => {
    const batch: Batch = { statements, reads, value: null, commands: [] }
    client.query(new (batchClass(Query))(batch, error => (error ? reject(error) : resolve(batch))))
  })
}

type BatchClass = new (batch: Batch, done: Done) => pg.Submittable

const made = new WeakMap<typeof pg.Query, BatchClass>()

/** `pg` takes no other class than its own on a connection that is pipelined, and it may not be installed. */
function batchClass(Query: typeof pg.Query): BatchClass {
  const known = made.get(Query)
  if (known !== undefined) return known
  const Base = Query as unknown as new (text: string) => pg.Query
  class BatchQuery extends Base {
    readonly #batch: Batch
    /** The driver puts one of its own around it, to stop its clock. */
    callback: Done

    constructor(batch: Batch, done: Done) {
      super('')
      this.#batch = batch
      this.callback = done
      const handle = this as unknown as { submit(wire: Wire): null }
      handle.submit = wire => submit(wire, batch)
    }

    /** For whoever watches the driver: the driver itself has no use for it. */
    get text(): string {
      return this.#batch.statements.map(({ text }) => text).join(';\n')
    }

    /** The driver's own class sets one. */
    set text(_: string) {}

    handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
      if (this.#batch.commands.length === this.#batch.reads) this.#batch.value = fields[0] ?? null
    }

    handleCommandComplete({ text }: { readonly text: string }): void {
      this.#batch.commands.push(text)
    }
  }
  made.set(Query, BatchQuery)
  return BatchQuery
}

/** No description of rows is asked for: who reads knows what comes. */
function submit(wire: Wire, { statements }: Batch): null {
  wire.stream.cork()
  try {
    for (const { name, values } of statements) {
      wire.bind({ portal: '', statement: name, values, valueMapper })
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
