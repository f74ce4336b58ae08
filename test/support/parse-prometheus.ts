/** Reads the text format of Prometheus as strictly as a server does, and fails on anything that it does not allow. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ParsedPage {
  readonly types: ReadonlyMap<string, string>
  readonly samples: readonly Sample[]
}

const metricName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/

export function parsePrometheus(page: string): ParsedPage {
  if (page !== '' && !page.endsWith('\n')) throw new Error('The last line must end, too.')
  const types = new Map<string, string>()
  const helped = new Set<string>()
  const samples: Sample[] = []
  for (const line of page.split('\n').slice(0, -1)) {
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (comment) noteComment(comment, types, helped)
    else samples.push(parseSample(line, types))
  }
  for (const name of types.keys()) if (!helped.has(name)) throw new Error(`${name} has no help.`)
  return { types, samples }
}

function noteComment([, word, name = '', rest = '']: RegExpExecArray, types: Map<string, string>, helped: Set<string>) {
  if (word === 'HELP') {
    if (helped.has(name)) throw new Error(`${name} is described twice.`)
    helped.add(name)
  } else {
    if (types.has(name)) throw new Error(`${name} stands in two places.`)
    if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(`${name} has the unknown type ${rest}.`)
    types.set(name, rest)
  }
}

function parseSample(line: string, types: ReadonlyMap<string, string>): Sample {
  const name = metricName.exec(line)?.[0] ?? ''
  const family = [...types.keys()].at(-1) ?? ''
  const suffix = name.slice(family.length)
  const allowed = types.get(family) === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  if (!name.startsWith(family) || !allowed.includes(suffix)) throw new Error(`${name} stands under ${family}.`)
  const { labels, rest } = parseLabels(line.slice(name.length))
  const value = /^ (\S+)$/.exec(rest)?.[1]
  if (value === undefined || Number.isNaN(Number(value))) throw new Error(`No number: ${line}`)
  return { name, labels, value: Number(value) }
}

function parseLabels(text: string): { labels: Record<string, string>; rest: string } {
  const labels: Record<string, string> = {}
  if (!text.startsWith('{')) return { labels, rest: text }
  let rest = text.slice(1)
  while (!rest.startsWith('}')) {
    const pair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,?)/.exec(rest)
    if (pair === null) throw new Error(`No label: ${rest}`)
    const [all, label = '', value = ''] = pair
    labels[label] = value.replace(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character))
    rest = rest.slice(all.length)
  }
  return { labels, rest: rest.slice(1) }
}
