/** Pictures for tests, written as short as the graphs they show, and names that nobody would give. */
import fc from 'fast-check'
import type { Picture, PictureNode } from '../../../src/drawing/picture.ts'

/** `a > b c; b c > d` is a diamond: all on the right depend on all on the left. Names are ids; order of mention counts. */
export function sketch(edges: string, more: Readonly<Record<string, Partial<PictureNode>>> = {}): Picture {
  const dependsOn = new Map<string, string[]>()
  const mention = (names: string | undefined) => {
    const found = (names ?? '').split(' ').filter(name => name !== '')
    for (const name of found) if (!dependsOn.has(name)) dependsOn.set(name, [])
    return found
  }
  for (const part of edges.split(';')) {
    const [parents = [], children = []] = part.split('>').map(mention)
    for (const child of children) dependsOn.get(child)?.push(...parents)
  }
  const nodes = [...dependsOn].map(([id, parents]) => ({ ...step(id, parents), ...more[id] }))
  return { title: null, nodes }
}

export function step(name: string, dependsOn: readonly string[] = []): PictureNode {
  return { id: name, name, kind: 'step', dependsOn }
}

/** `prefix_1` to `prefix_<count>`, side by side. */
export function siblings(prefix: string, count: number, more: Partial<PictureNode> = {}): PictureNode[] {
  return Array.from({ length: count }, (_, index) => ({ ...step(`${prefix}_${index + 1}`), ...more }))
}

/** The graphs that every format is shown with. */
export const graphs = {
  empty: '',
  one: 'alone',
  chain: 'a > b; b > c; c > d; d > e',
  diamond: 'a > b c; b c > d',
  twoEntries: 'a b > c',
  fanOut: 'a > b c d',
  nested: 'start > a b; a > a1 a2; b > b1 b2; a1 a2 > a3; b1 b2 > b3; a3 b3 > end_all',
  crossing: 'a b c; a c > d; b > e; a c > f',
}

/** The order workflow: a chain with two forks, the second with an edge past it. */
export const orderEdges =
  'validate > enrich_data check_inventory check_fraud; check_inventory check_fraud > ready_to_charge; ' +
  'ready_to_charge > charge_card; charge_card > send_receipt update_analytics; ' +
  'charge_card send_receipt update_analytics > complete'

/** Names made of what means something to a format, and of any characters at all, halves of pairs included. */
export const hostileName: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '"',
        '\\',
        '\n',
        ' ',
        '-->',
        '%%{',
        '}%%',
        '<b>',
        '&lt;',
        '`',
        '#',
        ';',
        ':',
        '[',
        ']',
        '(',
        '_',
        '.',
      ),
      fc.constantFrom(
        'a',
        '1',
        'end',
        'direction',
        'TB',
        'style',
        '->',
        '\\N',
        '検',
        '👍',
        '\u0301',
        '\u202e',
        '\x1b[31m',
      ),
      fc.integer({ min: 0, max: 0xffff }).map(code => String.fromCharCode(code)),
    ),
    { maxLength: 8 },
  )
  .map(parts => parts.join(''))

/** The lines of a template, without the indentation that they share and without the blank first and last line. */
export function lines(strings: TemplateStringsArray): string {
  const text = (strings.raw[0] ?? '').replace(/^\n/, '').replace(/\n *$/, '').split('\n')
  const indents = text.filter(line => line.trim() !== '').map(line => line.length - line.trimStart().length)
  const indent = Math.min(...indents)
  return text.map(line => line.slice(indent)).join('\n')
}
