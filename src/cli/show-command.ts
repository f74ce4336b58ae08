/** `geneva show`: one workflow on a screen, as it stands or as it moves. It changes nothing. */
import { textStyle } from '../drawing/text-style.ts'
import type { Geneva } from '../index.ts'
import { AppCommand, type Shared, whileLooking } from './app-command.ts'
import { spanOf } from './filter-options.ts'
import { everyOption } from './list-command.ts'
import { showView } from './show-view.ts'
import { findWorkflow } from './tell-commands.ts'
import { drawingWidth, hasColors, printJson, say, styled } from './terminal.ts'
import { type Look, watchScreen } from './watch-screen.ts'
import { documentOf } from './workflow-json.ts'

interface Flags extends Shared {
  readonly watch?: boolean
  readonly every: string
  readonly ascii?: boolean
}

export function showCommand(): AppCommand {
  return new AppCommand('show', {
    description: 'one workflow: its graph with states, what it waits for, progress, and when each attempt ran',
    examples: [
      ['show 4711', 'as it stands now'],
      ['show 4711 --watch', 'as it moves, until it ends or you press q'],
      ['show 4711 --json', 'the workflow, its graph and its history as one document'],
    ],
    more: 'With --watch --json: one document a line, whenever something has changed.',
  })
    .argument('<id>', 'the id of the workflow')
    .option('-w, --watch', 'look again and again, until it has ended')
    .addOption(everyOption())
    .option('--ascii', 'a drawing without box-drawing characters')
    .locating()
    .action((id: string, flags: Flags) => whileLooking(flags, geneva => show(geneva, id, flags)))
}

async function show(geneva: Geneva, id: string, flags: Flags): Promise<void> {
  const look = () => (flags.json ? lookForPrograms(geneva, id) : lookForPeople(geneva, id, flags))
  if (flags.watch) {
    return watchScreen(look, { json: flags.json === true, everyMs: spanOf(flags.every, '--every') })
  }
  const { lines, json } = await look()
  if (flags.json) printJson(json)
  else say(lines.join('\n'))
}

async function lookForPrograms(geneva: Geneva, id: string): Promise<Look> {
  const json = await documentOf(geneva, id)
  return { lines: [], json, isLast: json.workflow.endedAt !== null }
}

async function lookForPeople(geneva: Geneva, id: string, { ascii = false }: Flags): Promise<Look> {
  const workflow = await findWorkflow(geneva, id)
  const color = hasColors()
  const width = drawingWidth()
  // One after the other: they read the same few rows, and each is quick.
  const drawing = await workflow.draw({ width, color, ascii })
  const explanation = await workflow.explain()
  const history = await workflow.history()
  const compensations = await workflow.compensations()
  const decisions = await workflow.decisions()
  const { paint } = textStyle({ ascii, color })
  const { hero, createdAt, endedAt } = workflow
  const shown = { drawing, explanation, hero, createdAt, endedAt, history, compensations, decisions }
  const lines = showView(shown, { width, now: new Date(), paint, faint: text => styled('dim', text) })
  return { lines, json: null, isLast: endedAt !== null }
}
