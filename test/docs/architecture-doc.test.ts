/** The tables at the top of ARCHITECTURE.md say what the code does: same states, same transitions, same folders. */
import { describe, expect, it } from 'vitest'
import { executionTransitions, undoTransitions, workflowTransitions } from '../../src/engine/transitions.ts'
import { workflowStates } from '../../src/store/records.ts'
import { sourceFiles } from '../support/source-file.ts'
import { quoted, readPage, tableUnder, unionIn } from './markdown.ts'

const page = readPage('ARCHITECTURE.md')

describe('ARCHITECTURE.md', () => {
  it('lists exactly the transitions of workflows that the code allows', () => {
    expect(documented('Workflow states')).toEqual(coded(workflowTransitions))
  })

  it('lists exactly the transitions of executions that the code allows', () => {
    const inRollbacks = Object.entries(undoTransitions).map(([from, ends]) => [from, ends ?? []] as const)
    expect(documented('Execution states')).toEqual(
      [...coded(executionTransitions), ...coded(Object.fromEntries(inRollbacks))].toSorted(),
    )
  })

  it('names exactly the states that are stored', () => {
    expect(Object.keys(workflowTransitions).toSorted()).toEqual(
      ['new', ...workflowStates.filter(state => state !== 'performing')].toSorted(),
    )
    const ended = unionIn('src/store/records.ts', 'EndedState')
    const active = unionIn('src/store/records.ts', 'ActiveState')
    expect(statesIn('Execution states')).toEqual([...active, ...ended].toSorted())
  })

  it('maps every folder of the source and nothing else', () => {
    const mapped = tableUnder(page, 'Folder map').flatMap(([path]) => quoted(path))
    const files = sourceFiles('src').map(file => file.path)
    const top = files.filter(path => /^src\/[^/]+$/.test(path))
    const folders = files.filter(path => !top.includes(path)).map(path => path.replace(/[^/]+$/, ''))
    expect(mapped.toSorted()).toEqual([...new Set([...top, ...folders])].toSorted())
  })

  it('opens with the words, before anything that uses them', () => {
    const headings = page.lines.filter(line => line.startsWith('## '))
    expect(headings.slice(0, 5)).toEqual([
      '## Words',
      '## Workflow states',
      '## Execution states',
      '## The life of a workflow',
      '## Folder map',
    ])
  })
})

/** `-` stands for what does not exist yet. */
function documented(heading: string): string[] {
  return tableUnder(page, heading)
    .map(([from, to]) => `${quoted(from)[0] ?? 'new'} -> ${quoted(to)[0]}`)
    .toSorted()
}

function coded(table: Readonly<Record<string, readonly string[]>>): string[] {
  return Object.entries(table)
    .flatMap(([from, ends]) => ends.map(to => `${from} -> ${to}`))
    .toSorted()
}

function statesIn(heading: string): string[] {
  return [...new Set(tableUnder(page, heading).flatMap(([from, to]) => [...quoted(from), ...quoted(to)]))].toSorted()
}
