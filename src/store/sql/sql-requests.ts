/** The record of requests in SQL. A request that changes rows is recorded in the transaction that changes them. */
import { uuidV7 } from '../../primitives/uuid-v7.ts'
import type { RequestAction, RequestEntry, RequestRead, RequestRecord, RequestStore } from '../request-store.ts'
import type { SqlContext } from './context.ts'
import { int, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { raw, type Sql, sql } from './sql.ts'

export class SqlRequests implements RequestStore {
  readonly #context: SqlContext

  constructor(context: SqlContext) {
    this.#context = context
  }

  async list({ about, before, limit }: RequestRead): Promise<RequestRecord[]> {
    const older = before === undefined ? raw('') : sql` and q.id < ${before}`
    const own = about === undefined ? raw('') : sql` and q.action like ${`${about}.%`}`
    const rows = await this.#context.read(
      sql`select q.* from ${this.#context.tables.requests} q where 1 = 1${older}${own} order by q.id desc limit ${limit}`,
    )
    return rows.map(requestRecord)
  }

  async begin(entry: RequestEntry): Promise<string> {
    const id = uuidV7()
    await this.#context.write(insertRequest(this.#context, entry, id))
    return id
  }

  async complete(id: string, detail: string | null): Promise<void> {
    const { requests } = this.#context.tables
    await this.#context.write(
      detail === null
        ? sql`delete from ${requests} where id = ${id}`
        : sql`update ${requests} set detail = ${detail} where id = ${id}`,
    )
  }
}

/** Written once, however often the statement is sent. */
export function insertRequest(context: SqlContext, entry: RequestEntry, id = uuidV7()): Sql {
  const { action, name, by, reason, detail } = entry
  const rows = context.rows('r', {
    columns: { id: 'text', action: 'text', name: 'text', requested_by: 'text', reason: 'text', detail: 'text' },
    rows: [[id, action, name, by, reason, detail]],
  })
  return context.dialect.insertNew(
    context.tables.requests,
    ['id', 'action', 'name', 'requested_by', 'reason', 'detail', 'at'],
    sql`select r.id, r.action, r.name, r.requested_by, r.reason, r.detail, ${context.now} from ${rows}`,
  )
}

function requestRecord(row: Row): RequestRecord {
  return {
    id: text(row, 'id'),
    action: text(row, 'action') as RequestAction,
    name: optionalText(row, 'name'),
    by: optionalText(row, 'requested_by'),
    reason: optionalText(row, 'reason'),
    detail: optionalText(row, 'detail'),
    at: int(row, 'at'),
  }
}
