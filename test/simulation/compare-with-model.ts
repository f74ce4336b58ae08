/** Holds what stands in the tables against what the model says, row by row, and tells every difference in a line. */
import { isActive, type Model, type ModelNode } from './model.ts'
import type { ActiveRow, HistoryRow, LetterRow, WorkflowTables } from './workflow-tables.ts'

/** Empty when they agree. */
export function compareWithModel(model: Model, tables: WorkflowTables): string[] {
  return [
    ...differ('the workflow', workflowLine(model), workflowLine({ ...tables, cause: tables.pauseCause })),
    ...compareLists('active', model.all().filter(isActive).map(modelLine), tables.active.map(activeLine)),
    ...compareLists('history', model.all().flatMap(modelHistory), tables.history.map(historyLine)),
    ...compareLists('letters', model.all().flatMap(modelLetters), tables.letters.map(letterLine)),
  ]
}

function differ(what: string, expected: string, found: string): string[] {
  return expected === found ? [] : [`${what}: expected ${expected}, found ${found}`]
}

function workflowLine(one: { state: string; cause: string | null; finishing: boolean }): string {
  const over = one.state === 'finished' || one.state === 'canceled'
  return `${one.state}${one.cause === null ? '' : ` by ${one.cause}`}${one.finishing && !over ? ', finishing' : ''}`
}

function compareLists(what: string, expected: readonly string[], found: readonly string[]): string[] {
  return [
    ...expected.filter(line => !found.includes(line)).map(line => `${what}: missing ${line}`),
    ...found.filter(line => !expected.includes(line)).map(line => `${what}: unexpected ${line}`),
    ...found.filter((line, index) => found.indexOf(line) !== index).map(line => `${what}: twice ${line}`),
  ]
}

function modelLine(node: ModelNode): string {
  const claimable = node.state === 'scheduled' || node.state === 'suspended'
  return activeLine({ ...node, id: '', node: node.name, claimable })
}

function activeLine({ node, attempt, state, heldFrom, failures, crashes, owner, claimable }: ActiveRow): string {
  return [
    `${node}#${attempt} ${state}`,
    heldFrom === null ? '' : ` from ${heldFrom}`,
    failures > 0 ? `, ${failures} failures` : '',
    crashes > 0 ? `, ${crashes} crashes` : '',
    owner === null ? '' : `, owned by ${owner}`,
    claimable ? ', claimable' : '',
  ].join('')
}

function modelHistory(node: ModelNode): string[] {
  return node.ended.map(end => historyLine({ id: '', node: node.name, ...end }))
}

function historyLine({ node, attempt, state, outcome }: HistoryRow): string {
  return `${node}#${attempt} ${state} (${outcome})`
}

function modelLetters({ name, letters }: ModelNode): string[] {
  return letters.map(letter => letterLine({ id: '', node: name, ...letter }))
}

function letterLine({ node, attempt, state, reason }: LetterRow): string {
  return `${node}#${attempt} ${state} (${reason})`
}
