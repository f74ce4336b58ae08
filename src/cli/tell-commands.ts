/** `geneva decide` and `geneva signal`: what a person tells a workflow that waits. */
import { Argument } from 'commander'
import { type Geneva, type WorkflowHandle, WorkflowNotFoundError } from '../index.ts'
import { AppCommand, type Asker, asked, asking, jsonValue, type Shared, withGeneva } from './app-command.ts'
import { harmless, printJson, say } from './terminal.ts'

interface DecideFlags extends Shared {
  readonly by: string
  readonly comment?: string
  readonly data?: unknown
}

export function decideCommand(): AppCommand {
  return new AppCommand('decide', {
    description: 'confirm or reject a step that waits for people',
    examples: [
      ['decide 4711 approve confirmed --by ann', 'the workflow goes on'],
      [`decide 4711 approve confirmed --by ann --data '{"limit":500}'`, 'with what the form asks for'],
      ["decide 4711 approve rejected --by ann --comment 'too much'", 'and why not'],
    ],
    more: 'One decision per person. `geneva explain <id>` says who is waited for, who has confirmed and until when.',
  })
    .argument('<id>', 'the id of the workflow')
    .argument('<step>', 'the step that waits')
    .addArgument(new Argument('<decision>', 'what is decided').choices(['confirmed', 'rejected']))
    .requiredOption('--by <name>', 'who decides')
    .option('--comment <text>', 'why, for the record')
    .option('--data <json>', 'what the form of the step asks for', jsonValue)
    .locating()
    .action(async (id: string, step: string, decision: 'confirmed' | 'rejected', flags: DecideFlags) => {
      const { by, comment } = flags
      await withGeneva(flags, async geneva => {
        const workflow = await findWorkflow(geneva, id)
        await workflow.decide(step, {
          decision,
          by,
          ...(comment === undefined ? {} : { comment }),
          ...('data' in flags ? { data: flags.data } : {}),
        })
        await tell(geneva, workflow, flags, `${await decidedText(geneva, id, step, decision)} by ${by}.`)
      })
    })
}

/** One confirmation of several has not confirmed the step. */
async function decidedText(geneva: Geneva, id: string, step: string, decision: string): Promise<string> {
  const { nodes } = await geneva.explain(id)
  const waits = nodes
    .filter(({ id: node, name }) => node === step || name === step)
    .flatMap(({ reasons }) => reasons)
    .find(reason => reason.kind === 'people')
  // Sent back by a rejection, it may wait again already.
  if (decision === 'rejected' || waits === undefined || waits.confirmedBy.length === 0) return `${step} is ${decision}`
  const { confirmedBy, quorum } = waits
  return `${step} has ${confirmedBy.length} of ${quorum} confirmations (${confirmedBy.join(', ')}), the last`
}

interface SignalFlags extends Shared, Asker {
  readonly payload?: unknown
  readonly key?: string
}

export function signalCommand(): AppCommand {
  const command = new AppCommand('signal', {
    description: 'send a message to a step that waits for it, or will',
    examples: [
      [`signal 4711 delivered --payload '{"signedBy":"Bob"}'`, 'what the step receives'],
      ['signal 4711 paid --key invoice-17', 'sent twice, it counts once'],
    ],
  })
    .argument('<id>', 'the id of the workflow')
    .argument('<name>', 'the name of the signal: the step that waits for it')
    .option('--payload <json>', 'what the step receives', jsonValue)
    .option('--key <text>', 'a second signal with the same key changes nothing')
  return asking(command)
    .locating()
    .action(async (id: string, name: string, flags: SignalFlags) => {
      const { key } = flags
      await withGeneva(flags, async geneva => {
        const options = { ...asked(flags), ...(key === undefined ? {} : { key }) }
        await geneva.signal(id, name, flags.payload, options)
        await tell(geneva, await findWorkflow(geneva, id), flags, `The signal ${name} is sent.`)
      })
    })
}

export async function findWorkflow(geneva: Geneva, id: string): Promise<WorkflowHandle> {
  const found = await geneva.find(id)
  if (found !== null) return found
  throw new WorkflowNotFoundError(id)
}

async function tell(geneva: Geneva, workflow: WorkflowHandle, flags: Shared, sentence: string): Promise<void> {
  if (flags.json) return printJson(await geneva.views.workflow(workflow.id))
  await workflow.refresh()
  say(harmless(`${sentence} ${workflow.type || 'Workflow'} ${workflow.id} is ${workflow.state}.`))
}
