/** `geneva graph`: the graph of a workflow with its states, or of a class before it runs, in any format that there is. */
import { writeFileSync } from 'node:fs'
import { Option } from 'commander'
import type { DrawOptions } from '../index.ts'
import { AppCommand, type Shared, whileLooking } from './app-command.ts'
import { drawingWidth, hasColors, note, printJson, say } from './terminal.ts'

interface Flags extends Shared {
  readonly format: NonNullable<DrawOptions['format']>
  readonly out?: string
  readonly unfold?: boolean
  readonly ascii?: boolean
}

export function graphCommand(): AppCommand {
  return new AppCommand('graph', {
    description: 'draw a workflow with its states, or a class before it runs',
    examples: [
      ['graph 4711', 'a workflow, in the terminal'],
      ['graph OrderWorkflow --format mermaid', 'a class, for a Markdown page'],
      ['graph 4711 --format svg --out order.svg', 'a picture'],
      ['graph 4711 --format dot | dot -Tpng > order.png', 'with Graphviz'],
    ],
    more: 'With --json: the drawing as text, { format, drawing }.',
  })
    .argument('<what>', 'the id of a workflow, or the stored name of a class')
    .addOption(
      new Option('-f, --format <format>', 'how it is drawn').choices(['text', 'mermaid', 'dot', 'svg']).default('text'),
    )
    .option('-o, --out <file>', 'write it to a file')
    .option('--unfold', 'every node, also where many siblings only differ in their names')
    .option('--ascii', 'text without box-drawing characters')
    .locating()
    .action(graph)
}

async function graph(what: string, flags: Flags): Promise<void> {
  const { format, out, ascii = false } = flags
  const isPlain = out !== undefined || flags.json === true
  await whileLooking(flags, async geneva => {
    const drawing = await geneva.draw(what, {
      format,
      ascii,
      width: isPlain ? 100 : drawingWidth(),
      color: !isPlain && hasColors(),
      ...(flags.unfold ? { foldAt: Number.POSITIVE_INFINITY } : {}),
    })
    if (out !== undefined) writeFileSync(out, `${drawing}\n`)
    if (flags.json) printJson({ format, drawing })
    else if (out === undefined) say(drawing)
    else note(`Wrote ${out}.`)
  })
}
