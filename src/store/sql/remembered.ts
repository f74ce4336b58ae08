/**
 * Statements that are sent again and again are put together once. A statement is made of a few fragments (the rows, the time), each of
 * which has one of few texts; whenever the texts are the same so is that of the statement, and only the values are new.
 */
import { keepText, type Param, Sql } from './sql.ts'

/** A statement whose values are still to come. */
interface Pattern {
  readonly parts: readonly string[]
  /** Where each value is found among those of the fragments, one after another; `null`: just so. */
  readonly order: readonly number[] | null
}

class Place {
  /** `null`: not made yet. `'odd'`: has values of its own, and must be made each time. */
  pattern: Pattern | 'odd' | null = null
  readonly #next = new WeakMap<readonly string[], Place>()

  after(parts: readonly string[]): Place {
    const known = this.#next.get(parts)
    if (known !== undefined) return known
    const place = new Place()
    this.#next.set(parts, place)
    return place
  }
}

export class Remembered {
  readonly #places = new Map<object, Place>()

  /**
   * What `build` makes of the fragments; it must use nothing else that changes. `kind` tells statements apart: the function that
   * makes them, for one.
   */
  statement<Fragments extends readonly Sql[]>(
    kind: object,
    fragments: readonly [...Fragments],
    build: (...fragments: Fragments) => Sql,
  ): Sql {
    let place = this.#places.get(kind)
    if (place === undefined) {
      place = new Place()
      this.#places.set(kind, place)
    }
    for (const { parts } of fragments) place = place.after(parts)
    place.pattern ??= makePattern(fragments, build)
    return place.pattern === 'odd' ? build(...(fragments as unknown as Fragments)) : filled(place.pattern, fragments)
  }
}

function filled({ parts, order }: Pattern, fragments: readonly Sql[]): Sql {
  const [first] = fragments
  if (order === null && fragments.length === 1 && first !== undefined) return new Sql(parts, first.values)
  const all: Param[] = []
  for (const { values } of fragments) for (const value of values) all.push(value)
  return new Sql(parts, order === null ? all : order.map(index => all[index] as Param))
}

/** Made with marks instead of values, to see where each of them goes. */
function makePattern<Fragments extends readonly Sql[]>(
  fragments: readonly [...Fragments],
  build: (...fragments: Fragments) => Sql,
): Pattern | 'odd' {
  const places = new Map<unknown, number>()
  const marked = fragments.map(({ parts, values }) => {
    const marks = values.map(() => {
      const mark = Object.freeze([])
      places.set(mark, places.size)
      return mark
    })
    return new Sql(parts, marks)
  })
  const { parts, values } = build(...(marked as unknown as Fragments))
  const order = values.map(value => places.get(value))
  if (!order.every(index => index !== undefined)) return 'odd'
  keepText(parts)
  const isPlain = order.length === places.size && order.every((index, place) => index === place)
  return { parts, order: isPlain ? null : order }
}
