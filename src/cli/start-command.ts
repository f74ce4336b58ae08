/** `geneva start`: starts one workflow by the stored name of its class. It needs the code: the input is checked before. */
import { AppCommand, type Asker, asked, asking, jsonValue, type Shared, withApp } from './app-command.ts'
import { failed } from './exit-codes.ts'
import { heroFrom, spanOf } from './filter-options.ts'
import { harmless, note, printJson, say } from './terminal.ts'

interface Flags extends Shared, Asker {
  readonly hero?: { readonly type: string; readonly id: string }
  readonly input?: unknown
  readonly key?: string
  readonly tag?: string[]
  readonly delay?: string
  readonly allowMultiple?: true
  readonly wait?: string | true
}

export function startCommand(): AppCommand {
  const command = new AppCommand('start', {
    description: 'start a workflow by the name of its class',
    examples: [
      [`start Welcome --input '{"name":"Ann"}'`, 'with an input'],
      [
        'start OrderWorkflow --hero Order:42 --key order-42',
        'about a record; a second start with this key changes nothing',
      ],
      [`start Welcome --input '{"name":"Ann"}' --wait '1 min'`, 'and wait for its end, which a worker brings about'],
    ],
    more: 'Exit code 1 with --wait: it did not finish in time, or ended otherwise.',
  })
    .argument('<type>', 'the stored name of the class')
    .option('--hero <type:id>', 'the record that it is about', heroFrom)
    .option('--input <json>', 'its input', jsonValue)
    .option('--key <text>', 'a repeated start with this key gives the workflow that exists')
    .option('--tag <tag...>', 'words to find it by')
    .option('--delay <duration>', "how long the first step waits, like '10 min'")
    .option('--allow-multiple', 'also while its class has an active workflow for this record')
    .option('--wait [duration]', 'wait until it has finished, or for so long')
  return asking(command).locating(true).action(start)
}

async function start(type: string, flags: Flags): Promise<void> {
  const { hero, input, key, tag, delay, allowMultiple } = flags
  await withApp(flags, async geneva => {
    const workflow = await geneva.startByName(
      type,
      { ...(hero === undefined ? {} : { hero }), ...(input === undefined ? {} : { input }) },
      {
        ...asked(flags),
        ...(key === undefined ? {} : { idempotencyKey: key }),
        ...(tag === undefined ? {} : { tags: tag }),
        ...(delay === undefined ? {} : { delay: spanOf(delay, '--delay') }),
        ...(allowMultiple === undefined ? {} : { allowMultiple }),
      },
    )
    const { id } = workflow
    if (!flags.json) say(`Started ${type} ${id}. geneva show ${id} --watch shows how it goes.`)
    if (flags.wait !== undefined) {
      const timeout = flags.wait === true ? {} : { timeout: spanOf(flags.wait, '--wait') }
      await workflow.waitUntilFinished(timeout).catch(error => {
        process.exitCode = failed
        note(harmless(`geneva: ${(error as Error).message}`))
      })
    }
    const summary = await geneva.views.workflow(id)
    if (flags.json) printJson(summary)
    else if (flags.wait !== undefined)
      say(harmless(`It is ${summary.state}. Output: ${JSON.stringify(summary.output)}`))
  })
}
