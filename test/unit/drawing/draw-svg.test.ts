/** Pictures in SVG: what is drawn, in which colours, and that no name becomes anything but text. */
import { expect, it } from 'vitest'
import { drawGraph, type PictureNode } from '../../../src/index.ts'

const node = (id: string, dependsOn: string[] = [], more: Partial<PictureNode> = {}): PictureNode => ({
  id,
  name: id,
  kind: 'step',
  dependsOn,
  ...more,
})

function svg(nodes: PictureNode[], title: string | null = 'Order 17'): string {
  return drawGraph({ title, nodes }, { format: 'svg' })
}

it('draws a circle and a name for each node, in the colours of its state, with its words', () => {
  const drawn = svg([
    node('reserve', [], { state: 'completed' }),
    node('charge', ['reserve'], { state: 'failed', attempt: 3 }),
    node('ship', ['charge'], { state: 'pending' }),
  ])
  expect(drawn.match(/<circle/g)).toHaveLength(3)
  expect(drawn).toContain('fill="#ffe3e3" stroke="#c92a2a"')
  expect(drawn).toContain('failed · attempt 3')
  expect(drawn).toContain('aria-label="Order 17"')
})

it('joins what depends on each other by lines, and keeps a line apart that only crosses', () => {
  const diamond = [node('a'), node('b', ['a']), node('c', ['a']), node('d', ['b', 'c'])]
  expect(svg(diamond)).toMatch(/<path d="M\d+ \d+H\d+/)
  const [a, b, c] = [node('a'), node('b'), node('c')]
  const crossed = [a, b, c, node('x', ['a', 'b']), node('y', ['b', 'c']), node('z', ['a', 'c']), node('w', ['x', 'z'])]
  expect(svg(crossed)).toContain('stroke="#ffffff" stroke-width="8"')
})

it('shows hostile names as text, and holds nothing that runs or loads', () => {
  const names = [
    '<script>alert(1)</script>',
    '"><image href=x onerror=alert(1)>',
    "' & ]]>",
    '\u0000\u001b[31m\ud800\uffff',
  ]
  const drawn = svg(
    names.map((name, index) => node(`n${index}`, [], { name, state: name })),
    '<b>"title"',
  )
  expect(drawn).not.toMatch(/<(script|image|b)\b|href=x>/)
  for (const character of ['\u0000', '\u001b', '\uffff']) expect(drawn).not.toContain(character)
  expect(drawn).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(drawn.replace(/<\/?(svg|rect|text|tspan|circle|path|g)\b[^<>]*>/g, '')).not.toMatch(/[<>]/)
})

it('folds siblings into one box, and says what a node depends on where there are too many lines', () => {
  const items = Array.from({ length: 10_000 }, (_, index) => node(`item_${index}`, ['start'], { state: 'completed' }))
  const folded = svg([node('start'), ...items])
  expect(folded).toContain('(10,000: 10,000 completed)')
  expect(folded.length).toBeLessThan(3000)
  const wide = Array.from({ length: 150 }, (_, index) => node(`wide_${index}`, [], { job: `job${index}` }))
  const bottom = wide.map((_, index) => node(`end_${index}`, [`wide_${index}`, `wide_${(index + 1) % 150}`]))
  expect(svg([...wide, ...bottom])).toContain('after wide_3, wide_4')
})
