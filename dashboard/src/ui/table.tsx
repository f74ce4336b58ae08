/** A table that turns into a stack of cards on a phone: every cell carries the name of its column. */
import type { ReactNode } from 'react'
import { useRowKeys } from './row-keys.ts'

export interface Column<T> {
  readonly name: string
  readonly cell: (row: T) => ReactNode
  /** Numbers stand on the right. */
  readonly numeric?: boolean
  /** Takes what room is left. */
  readonly wide?: boolean
}

interface Props<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  /** Where Enter leads on a row; with it, j and k move between rows. */
  readonly open?: (row: T) => string
  /** Stands in front of the first column: a checkbox. */
  readonly select?: { readonly head: ReactNode; readonly cell: (row: T) => ReactNode }
}

export function Table<T>({ label, columns, rows, keyOf, open, select }: Props<T>) {
  const keys = useRowKeys(open === undefined ? null : rows.map(open))
  return (
    <div className="table-frame">
      <table>
        <caption className="unseen">{label}</caption>
        <thead>
          <tr>
            {select && <th className="select">{select.head}</th>}
            {columns.map(({ name, numeric }) => (
              <th key={name} scope="col" className={numeric ? 'numeric' : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={keys}>
          {rows.map(row => (
            <tr key={keyOf(row)}>
              {select && <td className="select">{select.cell(row)}</td>}
              {columns.map(({ name, cell, numeric, wide }) => (
                <td key={name} data-column={name} className={`${numeric ? 'numeric' : ''} ${wide ? 'wide' : ''}`}>
                  <div className="cell">{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
