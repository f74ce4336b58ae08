/**
 * A small SQL tag: text and values stay apart until the driver binds them. Only fragments made here become text;
 * whatever else is interpolated is a bound value.
 */

export type Param = string | number | bigint | null | readonly (string | number | null)[]

/** A statement or a part of one. */
export class Sql {
  readonly parts: readonly string[]
  readonly values: readonly Param[]
  constructor(parts: readonly string[], values: readonly Param[]) {
    this.parts = parts
    this.values = values
  }
}

/** A write that must be about so many rows; else nothing of its transaction is committed. */
export class Counted extends Sql {
  readonly count: number
  /** Writes that go by what this one returns, which they know by its place: `s0`, or `s1`. */
  readonly takers: readonly Sql[]
  constructor({ parts, values }: Sql, count: number, takers: readonly Sql[] = []) {
    super(parts, values)
    this.count = count
    this.takers = takers
  }
}

/** Several statements in one, of which none goes by what another one writes. */
export class Together extends Sql {
  readonly statements: readonly Sql[]
  constructor({ parts, values }: Sql, statements: readonly Sql[]) {
    super(parts, values)
    this.statements = statements
  }
}

/** Builds a statement. Fragments are spliced in, everything else is bound. */
export function sql(strings: TemplateStringsArray, ...inserts: readonly (Param | Sql)[]): Sql {
  const parts: string[] = [strings[0] ?? '']
  const values: Param[] = []
  inserts.forEach((insert, index) => {
    const following = strings[index + 1] ?? ''
    if (insert instanceof Sql) {
      parts[parts.length - 1] += insert.parts[0] ?? ''
      for (let i = 0; i < insert.values.length; i++) {
        values.push(insert.values[i] as Param)
        parts.push(insert.parts[i + 1] ?? '')
      }
      parts[parts.length - 1] += following
    } else {
      values.push(insert)
      parts.push(following)
    }
  })
  return new Sql(parts, values)
}

/** Trusted text: a constant of this program or an identifier that was validated. Never a value from outside. */
export function raw(text: string): Sql {
  return new Sql([text], [])
}

const hole = ['', '']

/** A bound value by itself. */
export function param(value: Param): Sql {
  return new Sql(hole, [value])
}

/** Lists may be thousands long, so nothing is copied twice. */
export function join(fragments: readonly Sql[], separator: string): Sql {
  const parts = ['']
  const values: Param[] = []
  fragments.forEach((fragment, index) => {
    parts[parts.length - 1] += (index === 0 ? '' : separator) + (fragment.parts[0] ?? '')
    // Not spread: there may be more than a call takes arguments.
    for (const value of fragment.values) values.push(value)
    for (const part of fragment.parts.slice(1)) parts.push(part)
  })
  return new Sql(parts, values)
}

/** True where the column has one of the values: names and words. Ids are looked for with `SqlContext.among`. */
export function oneOf(column: Sql, values: readonly string[]): Sql {
  if (values.length === 0) return raw('1 = 0')
  return sql`${column} in (${join([...new Set(values)].map(param), ', ')})`
}

/** About as long as a number is. */
const numberLength = 20

/** About how many characters the values of a statement have, where they are single ones. */
export function lengthOf(values: readonly Param[]): number {
  let length = 0
  for (const value of values) length += typeof value === 'string' ? value.length : numberLength
  return length
}

export interface Rendered {
  readonly text: string
  readonly values: readonly Param[]
}

type Placeholder = (position: number) => string

/** The texts of statements that come again, once they were made. */
const kept = new WeakMap<readonly string[], Map<Placeholder, string>>()

/** The text of these parts is made once, wherever they are used again. */
export function keepText(parts: readonly string[]): void {
  if (!kept.has(parts)) kept.set(parts, new Map())
}

/** Turns a statement into the text a driver wants, with its own kind of placeholder. */
export function render({ parts, values }: Sql, placeholder: Placeholder): Rendered {
  const texts = kept.get(parts)
  const known = texts?.get(placeholder)
  if (known !== undefined) return { text: known, values }
  let text = parts[0] ?? ''
  for (let i = 1; i < parts.length; i++) text += placeholder(i) + parts[i]
  texts?.set(placeholder, text)
  return { text, values }
}
