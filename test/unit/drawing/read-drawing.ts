/**
 * Reads a text drawing back into nodes and edges, following its lines as an eye would: down from a mark, along
 * horizontal lines to either side, and straight on where a vertical line crosses.
 */

export interface Read {
  /** Names in the order of their rows. */
  readonly nodes: readonly string[]
  /** `parent > child`, as often as it is shown. */
  readonly edges: readonly string[]
}

const arms: Readonly<Record<string, string>> = {
  '│': 'ud',
  '─': 'lr',
  '┌': 'dr',
  '┐': 'dl',
  '└': 'ur',
  '┘': 'ul',
  '├': 'udr',
  '┤': 'udl',
  '┬': 'dlr',
  '┴': 'ulr',
  '┼': 'udlr',
}

const steps: Readonly<Record<string, readonly [number, number]>> = { d: [1, 0], l: [0, -1], r: [0, 1] }

/** Marks must be `○`, and names of word characters. */
export function readRails(rows: readonly string[]): Read {
  const stations = new Map<string, string>()
  for (const [row, line] of rows.entries()) {
    const name = /(\w+)$/.exec(line)?.[1]
    if (name) stations.set(`${row} ${line.indexOf('○')}`, name)
  }
  // Marks that touch are not joined: it takes a line.
  const isLine = (row: number, column: number) => rows[row]?.[column] !== undefined && !stations.has(`${row} ${column}`)
  const follow = (row: number, column: number, way: string): string[] => {
    const [down, aside] = steps[way] ?? [0, 0]
    const place = `${row + down} ${column + aside}`
    const station = stations.get(place)
    if (station) return [station]
    const found = arms[rows[row + down]?.[column + aside] ?? ''] ?? ''
    // A vertical line with a horizontal one on both sides lies over it.
    if (way !== 'd' && found === 'ud') return follow(row, column + aside, way)
    const entered = { d: 'u', l: 'r', r: 'l' }[way] ?? ''
    if (!found.includes(entered)) return []
    const ways = [...found].filter(next => next !== 'u' && next !== entered)
    return ways.flatMap(next => follow(row + down, column + aside, next))
  }
  const edges = [...stations].flatMap(([place, parent]) => {
    const [row = 0, column = 0] = place.split(' ').map(Number)
    const children = isLine(row + 1, column) ? follow(row, column, 'd') : []
    return children.map(child => `${parent} > ${child}`)
  })
  return { nodes: [...stations.values()], edges }
}

/** The list of layers, whose dependencies may go on in the lines below. */
export function readList(rows: readonly string[]): Read {
  const nodes: string[] = []
  const edges: string[] = []
  for (const row of rows) {
    const [, name, rest = row] = /^[\d ]* {2}○ (\w+)(.*)$/.exec(row) ?? []
    if (name) nodes.push(name)
    const child = nodes.at(-1)
    for (const [parent] of rest.matchAll(/\w+/g)) edges.push(`${parent} > ${child}`)
  }
  return { nodes, edges }
}

export function readText(drawing: string): Read {
  const rows = drawing.split('\n')
  return rows.some(row => /^ *\d+ {2}○/.test(row)) ? readList(rows) : readRails(rows)
}
