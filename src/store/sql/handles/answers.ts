/**
 * Reads the answers of the libraries, each of which has a shape of its own.
 */
import { InvariantError } from '../../../errors.ts'
import type { Row } from '../dialect.ts'

/** Rows with our column names, from a list of rows, `{ rows }`, or `[rows, fields]`. */
export function resultRows(answer: unknown): Row[] {
  const list = Array.isArray(answer) ? answer : property(answer, 'rows')
  const rows = Array.isArray(list) && Array.isArray(list[0]) ? list[0] : list
  if (!Array.isArray(rows)) throw new InvariantError('A library answered a query in a form that is not known.')
  return rows.map(withOwnNames)
}

const countNames = ['rowCount', 'affectedRows', 'numAffectedRows', 'rowsAffected', 'changes', 'count']

/** How many rows a statement touched; 0 where the library does not tell. */
export function affectedRows(answer: unknown): number {
  if (typeof answer === 'number') return answer
  const header = Array.isArray(answer) && answer.length > 0 ? answer[0] : answer
  for (const name of countNames) {
    const count = property(header, name) ?? property(answer, name)
    if (typeof count === 'number' || typeof count === 'bigint') return Number(count)
  }
  return 0
}

/** Applications have their columns renamed to camelCase; ours are snake_case, so the way back is known. */
function withOwnNames(row: Row): Row {
  const names = Object.keys(row)
  if (names.every(name => !/[A-Z-]/.test(name))) return row
  return Object.fromEntries(names.map(name => [snakeCase(name), row[name]]))
}

function snakeCase(name: string): string {
  return name
    .replaceAll('-', '_')
    .replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
    .replace(/^_+/, '')
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
