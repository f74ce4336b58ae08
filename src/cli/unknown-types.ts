/** Says of a filter that finds nothing that it names a class of which nobody has heard: most likely it is misspelled. */
import type { Geneva } from '../index.ts'

const mostNamed = 10

/** Of the names, those by which the tables know neither a workflow nor code, in a sentence; `null` where there are none. */
export async function unknownTypes(geneva: Geneva, types: readonly string[] = []): Promise<string | null> {
  if (types.length === 0) return null
  const known = (await geneva.views.definitions()).map(({ type }) => type)
  const unknown: string[] = []
  for (const type of types) {
    if (known.includes(type)) continue
    const { items } = await geneva.views.workflows({ type, limit: 1 })
    if (items.length === 0) unknown.push(type)
  }
  if (unknown.length === 0) return null
  const names = known.slice(0, mostNamed).join(', ')
  const there = known.length === 0 ? '' : ` Known are: ${names}${known.length > mostNamed ? ', …' : ''}.`
  return `The tables know no workflow and no code by the name ${unknown.join(' or ')}.${there}`
}
