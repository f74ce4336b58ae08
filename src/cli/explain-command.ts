/**
 * `geneva explain`: what a workflow waits for, in a sentence, and where each of its steps stands. It only looks: the tables
 * stay as they are, also where the code is newer than they are.
 */
import { confirmationsIn } from '../engine/waiting-sentence.ts'
import type { Explanation, NodeReadiness, WaitReason } from '../index.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { AppCommand, type Shared, whileLooking } from './app-command.ts'
import { harmless, printJson, say } from './terminal.ts'

export function explainCommand(): AppCommand {
  return new AppCommand('explain', {
    description: 'say what a workflow waits for, and why each of its steps does not run',
    examples: [
      ['explain 4711', 'in words'],
      ['explain 4711 --json', 'every reason of every step'],
    ],
  })
    .argument('<id>', 'the id of the workflow')
    .locating()
    .action((id: string, options: Shared) =>
      whileLooking(options, async geneva => {
        const explanation = await geneva.explain(id)
        if (options.json) printJson(explanation)
        else say(harmless(textOf(explanation)))
      }),
    )
}

function textOf({ type, workflowId, state, sentence, nodes }: Explanation): string {
  const head = `${type === '' ? 'Workflow' : type} ${workflowId} (${state})`
  const width = Math.max(0, ...nodes.map(node => node.name.length))
  return [head, sentence, '', ...nodes.map(node => lineOf(node, width))].join('\n').trimEnd()
}

function lineOf({ name, state, attempt, ready, reasons }: NodeReadiness, width: number): string {
  const stand = `${state}${attempt > 1 ? ` (attempt ${attempt})` : ''}`
  const why = ready ? 'ready' : reasons.map(wordsFor).filter(text => text !== '')
  return `  ${name.padEnd(width)}  ${[stand, ...[why].flat()].join(', ')}`
}

/** What the state does not say already. */
function wordsFor(reason: WaitReason): string {
  switch (reason.kind) {
    case 'done':
    case 'left_out':
    case 'ended':
    case 'paused':
    case 'stopping':
      return ''
    case 'dependencies':
      return `waits for ${reason.open.join(', ')}`
    case 'failed':
      return reason.error === null ? '' : `${reason.error.className}: ${reason.error.message.split('\n')[0]}`
    case 'claimed':
      return `by worker ${reason.worker}${reason.alive ? '' : ', which has fallen silent'}`
    case 'child':
      return `for workflow ${reason.workflowId}`
    case 'items':
      return `for ${reason.open} of its items`
    case 'place':
      return 'for a place'
    case 'backoff':
      return `failure ${reason.failures}, again at ${describeTime(reason.until)}`
    case 'time':
      return `until ${describeTime(reason.until)}`
    case 'no_worker':
      return `due since ${describeTime(reason.since)}, no live worker has its code`
    case 'queue_paused':
      return `queue ${reason.queue} is paused`
    case 'limit':
      return `${reason.of === 'queue' ? 'queue' : 'class'} ${reason.name}${reason.key === null ? '' : ` (${reason.key})`} is at its limit of ${reason.most}`
    case 'lost':
      return 'not in the code any more'
    case 'people':
      return peopleIn(reason)
    case 'signal':
      return `for the signal ${reason.name}`
    case 'outside':
      return 'for something outside'
    case 'not_scheduled':
      return 'not scheduled yet'
  }
}

/** Who is asked, who has answered, and until when the others may. */
function peopleIn(reason: Extract<WaitReason, { kind: 'people' }>): string {
  const { assignTo, confirmedBy, quorum, until } = reason
  const made = confirmedBy.length > 0 || quorum > 1 ? [confirmationsIn(reason)] : []
  const latest = until === null ? [] : [`until ${describeTime(until)}`]
  return [`for ${assignTo.length > 0 ? assignTo.join(', ') : 'people'} to decide`, ...made, ...latest].join(', ')
}
