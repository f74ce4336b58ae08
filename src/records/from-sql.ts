/**
 * Records of a plain select, page by page, through whatever sends a statement to the application's database. The select
 * becomes a subquery; names are checked, values are bound.
 */
import type { RecordSource } from '../definition/iteration.ts'
import { InvalidArgumentError } from '../errors.ts'
import { columnName, type Direction, directionFrom, type KeysetOptions, keysetSource } from './keyset-source.ts'
import { type PlaceValue, placeColumns, type RecordPlace, textOfPlace } from './record-place.ts'

export interface SqlSource<Item> extends KeysetOptions {
  /** Without order and limit. It must give the columns `by` and `id`. */
  readonly select: string
  /** For the placeholders in `select`, if it has any. */
  readonly values?: readonly unknown[]
  /** The column that makes the order; it need not be unique. Default: the id alone. */
  readonly by?: keyof Item & string
  /** A unique column, which orders records that are equal in `by`. */
  readonly id: keyof Item & string
  /** Sends a statement and returns its rows. */
  query(text: string, values: unknown[]): PromiseLike<readonly Item[]>
  /** How the driver writes placeholders: `$1`, `$2` or `?`. Default `$`. */
  readonly placeholder?: '$' | '?'
}

/** A place in the order is compared with `by` first, then with `id`, so that records with equal values are met once each. */
export function fromSql<Item = any>(source: SqlSource<Item>): RecordSource<Item, RecordPlace> {
  const { by, query } = source
  if (typeof query !== 'function') throw new InvalidArgumentError('`query` must be a function that sends a statement.')
  const statement = new PageStatement(source)
  const send = ({ text, values }: Statement) => query.call(source, text, values)
  return keysetSource<Item>({
    ordered: by !== undefined,
    page: (after, limit) => send(statement.page(after, limit)),
    unplaced: () => send(statement.unplaced()),
  })
}

interface Statement {
  readonly text: string
  readonly values: unknown[]
}

class PageStatement {
  readonly #select: string
  readonly #values: readonly unknown[]
  readonly #by: string | null
  readonly #id: string
  readonly #direction: Direction
  readonly #numbered: boolean

  constructor(source: SqlSource<any>) {
    this.#numbered = isNumbered(source.placeholder)
    this.#select = subquery(source.select)
    this.#values = source.values ?? []
    this.#by = source.by === undefined ? null : this.#column(source.by, 'by')
    this.#id = this.#column(source.id, 'id')
    this.#direction = directionFrom(source)
  }

  page(after: RecordPlace | null, limit: number): Statement {
    const { word } = this.#direction
    const place = this.#by
      ? `${this.#by} as ${placeColumns.by}, cast(${this.#by} as ${textOfPlace}) as ${placeColumns.text}, `
      : ''
    const order = [this.#by, this.#id].filter(column => column !== null).map(column => `${column} ${word}`)
    const values = [...this.#values]
    const bind = (value: PlaceValue) => {
      values.push(value)
      return this.#numbered ? `$${values.length}` : '?'
    }
    // The first page binds a value, too: the wrong kind of placeholder is then found at once, not by a second page.
    const where = after === null ? `1 = ${bind(1)}` : this.#beyond(after, bind)
    return {
      text: `select genevarecords.*, ${place}${this.#id} as ${placeColumns.id} from (${this.#select}
        ) as genevarecords where ${where} order by ${order.join(', ')} limit ${limit}`,
      values,
    }
  }

  unplaced(): Statement {
    const text = `select 1 as found from (${this.#select}\n) as genevarecords where ${this.#by} is null limit 1`
    return { text, values: [...this.#values] }
  }

  #beyond({ by, as, id }: RecordPlace, bind: (value: PlaceValue) => string): string {
    const { from, beyond } = this.#direction
    if (this.#by === null || by === undefined) return `${this.#id} ${beyond} ${bind(id)}`
    // A driver that looks at the type of the column would make a Date of the text, and drop its last digits.
    const time = () => (as && this.#numbered ? `cast(cast(${bind(by)} as text) as ${as})` : bind(by))
    return `${this.#by} ${from} ${time()} and (${this.#by} ${beyond} ${time()} or ${this.#id} ${beyond} ${bind(id)})`
  }

  /** Quoted where the quotes are known, so that upper case is kept. */
  #column(name: unknown, what: string): string {
    const column = columnName(name, what)
    return `genevarecords.${this.#numbered ? `"${column}"` : column}`
  }
}

function isNumbered(placeholder: unknown = '$'): boolean {
  if (placeholder === '$' || placeholder === '?') return placeholder === '$'
  throw new InvalidArgumentError(`\`placeholder\` must be '$' or '?', not ${JSON.stringify(placeholder)}.`)
}

function subquery(select: unknown): string {
  const text = typeof select === 'string' ? select.replace(/[\s;]+$/, '') : ''
  if (text === '') throw new InvalidArgumentError('`select` must be a statement that selects the records.')
  return text
}
