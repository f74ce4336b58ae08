/**
 * Dead letters: work that was given up, with why, until a person handles it. A letter is opened and closed in the
 * transaction that changes its workflow, and never deleted by that.
 */
import type { ClosedLetter, NewLetter } from '../change.ts'
import type { LetterRecord } from '../records.ts'
import type { LetterFilter } from '../store.ts'
import type { SqlContext } from './context.ts'
import { int, optionalInt, optionalText, text } from './decode.ts'
import type { Row } from './dialect.ts'
import { type Columns, rowSet } from './row-set.ts'
import { join, oneOf, raw, type Sql, sql } from './sql.ts'

type Letter = NewLetter & { readonly workflowId: string }

const columns: Columns<Letter> = {
  id: ['id', letter => letter.id],
  workflow_id: ['id', letter => letter.workflowId],
  execution_id: ['id', letter => letter.executionId],
  node: ['text', letter => letter.node],
  node_name: ['text', letter => letter.nodeName],
  kind: ['text', letter => letter.kind],
  attempt: ['int', letter => letter.attempt],
  reason: ['text', letter => letter.reason],
  error_class: ['text', letter => letter.error?.className ?? null],
  error_message: ['text', letter => letter.error?.message ?? null],
  error_stack: ['text', letter => letter.error?.stack ?? null],
}

/** A letter that brings no error is about an attempt that ended before, and takes the error from there. */
export function insertLetters(context: SqlContext, letters: readonly Letter[]): Sql {
  const names = Object.keys(columns)
  const values = names.map(name =>
    name.startsWith('error_') ? `case when r.error_class is null then e.${name} else r.${name} end` : `r.${name}`,
  )
  return sql`insert into ${context.tables.letters} (${raw(names.join(', '))}, state, created_at)
    select ${raw(values.join(', '))}, 'open', ${context.now}
    from ${context.rows('r', rowSet(columns, letters))}
    left join ${context.tables.history} e on ${context.dialect.sameKey('e.id', 'r.execution_id')}`
}

export function closeLetters(context: SqlContext, letters: readonly ClosedLetter[]): Sql {
  const set = rowSet<ClosedLetter>(
    {
      id: ['id', letter => letter.id],
      state: ['text', letter => letter.state],
      handled_by: ['text', letter => letter.by],
      handled_reason: ['text', letter => letter.reason],
    },
    letters,
  )
  return context.dialect.updateFrom(
    context.tables.letters,
    context.rows('r', set),
    context.dialect.sameKey('a.id', 'r.id'),
    [
      ['state', raw('r.state')],
      ['handled_at', context.now],
      ['handled_by', raw('r.handled_by')],
      ['handled_reason', raw('r.handled_reason')],
    ],
  )
}

const letterColumns = raw(
  'd.id, d.workflow_id, d.execution_id, d.node, d.node_name, d.kind, d.attempt, d.reason, d.error_class, d.error_message, d.error_stack, ' +
    'd.state, d.created_at, d.handled_at, d.handled_by, d.handled_reason, w.type',
)

export function selectOpenLetters(context: SqlContext, workflowIds: readonly string[]): Sql {
  return selectOpen(context, context.among(raw('d.workflow_id'), workflowIds))
}

export function selectLetters(context: SqlContext, ids: readonly string[]): Sql {
  return selectOpen(context, context.among(raw('d.id'), ids))
}

function selectOpen(context: SqlContext, among: Sql): Sql {
  return sql`select ${letterColumns} from ${context.tables.letters} d join ${context.tables.workflows} w on w.id = d.workflow_id
    where ${among} and d.state = 'open'`
}

/** Most workflows have none: only those that say so are looked at. */
export function selectStandingLetters(context: SqlContext, workflowIds: readonly string[]): Sql {
  return sql`select ${letterColumns} from ${context.tables.workflows} w
    ${context.dialect.keyedJoin} ${context.tables.letters} d on d.workflow_id = w.id and d.state = 'open'
    where ${context.among(raw('w.id'), workflowIds)} and w.open_letters > 0 order by d.id`
}

/** Newest first. */
export async function listLetters(context: SqlContext, filter: LetterFilter): Promise<LetterRecord[]> {
  const all: Sql[] = [raw('1 = 1')]
  if (filter.id !== undefined) all.push(sql`d.id = ${context.id(filter.id)}`)
  // Written out: an index over open letters serves only a condition that is known beforehand.
  if (filter.state !== undefined) all.push(raw(`d.state = '${filter.state.replace(/[^a-z]/g, '')}'`))
  if (filter.workflowId !== undefined) all.push(sql`d.workflow_id = ${context.id(filter.workflowId)}`)
  if (filter.node !== undefined) all.push(sql`(d.node = ${filter.node} or d.node_name = ${filter.node})`)
  if (filter.reason !== undefined) all.push(sql`d.reason = ${filter.reason}`)
  if (filter.types !== undefined) all.push(oneOf(raw('w.type'), filter.types))
  if (filter.before !== undefined) all.push(sql`d.id < ${context.id(filter.before)}`)
  const rows = await context.read(
    sql`select ${letterColumns} from ${context.tables.letters} d join ${context.tables.workflows} w on w.id = d.workflow_id
      where ${join(all, ' and ')} order by d.id desc limit ${filter.limit}`,
  )
  return rows.map(letterRecord)
}

export function letterRecord(row: Row): LetterRecord {
  const errorClass = optionalText(row, 'error_class')
  return {
    id: text(row, 'id'),
    workflowId: text(row, 'workflow_id'),
    workflowType: text(row, 'type'),
    executionId: text(row, 'execution_id'),
    node: text(row, 'node'),
    nodeName: optionalText(row, 'node_name'),
    kind: text(row, 'kind') as LetterRecord['kind'],
    attempt: int(row, 'attempt'),
    reason: text(row, 'reason') as LetterRecord['reason'],
    error:
      errorClass === null
        ? null
        : { className: errorClass, message: text(row, 'error_message'), stack: optionalText(row, 'error_stack') },
    state: text(row, 'state') as LetterRecord['state'],
    createdAt: int(row, 'created_at'),
    handledAt: optionalInt(row, 'handled_at'),
    handledBy: optionalText(row, 'handled_by'),
    handledReason: optionalText(row, 'handled_reason'),
  }
}
