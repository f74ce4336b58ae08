/**
 * `geneva pause`, `resume`, `cancel`, `abort`, `skip`, `resolve` and `reattempt`: one workflow by its id, or all that a filter
 * finds, after a count and a confirmation. What cannot be taken back is shown first.
 */
import { failedSteps, settleEach } from '../client/failed-steps.ts'
import { isEnd } from '../engine/end-watch.ts'
import { InvalidStateError } from '../errors.ts'
import type { BulkReport, Geneva, RollbackStep, ViewOptions, WorkflowSummary } from '../index.ts'
import {
  AppCommand,
  type Asker,
  asked,
  asking,
  jsonValue,
  type Shared,
  wholeNumber,
  withGeneva,
} from './app-command.ts'
import { confirmed, saidNo } from './confirm.ts'
import { failed, WrongUsage } from './exit-codes.ts'
import { type FilterFlags, filterFrom, filtering } from './filter-options.ts'
import { harmless, note, printJson, say } from './terminal.ts'
import { unknownTypes } from './unknown-types.ts'

export interface SteerFlags extends Shared, Asker, FilterFlags {
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly limit?: number
  readonly output?: unknown
  readonly step?: string
}

type Verb = 'pause' | 'resume' | 'cancel' | 'abort' | 'skip' | 'resolve' | 'reattempt'

interface Steering {
  readonly verb: Verb
  readonly description: string
  readonly past: string
  /** It is about a step: the one that is named, or every one that has failed. */
  readonly step?: boolean
  /** It cannot be taken back. */
  readonly final?: boolean
  readonly more: string
}

const steerings: readonly Steering[] = [
  {
    verb: 'pause',
    description: 'let nothing new of a workflow begin; what runs goes on and is recorded',
    past: 'paused',
    more: 'geneva resume goes on where it was.',
  },
  {
    verb: 'resume',
    description: 'let a paused workflow go on: held steps at their own time, a failed one with a new attempt',
    past: 'resumed',
    more: 'A workflow in the dlq goes on by geneva dlq requeue.',
  },
  {
    verb: 'skip',
    description: 'leave out a step that waits or has failed',
    past: 'skipped',
    step: true,
    more: 'What depends on it goes on.',
  },
  {
    verb: 'resolve',
    description: 'take a step as done: somebody has done by hand what it was to do',
    past: 'resolved',
    step: true,
    more: 'With --output, those that read its output get that.',
  },
  {
    verb: 'reattempt',
    description: 'try a step that has failed once more, while nothing after it has started',
    past: 'reattempted',
    step: true,
    more: 'geneva resume does the same for every failed step of a paused workflow.',
  },
  {
    verb: 'cancel',
    description: 'end a workflow and undo what it has done, newest first',
    past: 'canceled',
    final: true,
    more: 'It shows first what would be undone; --dry-run shows only that.',
  },
  {
    verb: 'abort',
    description: 'end a workflow at once: nothing is undone, nothing that runs is waited for',
    past: 'aborted',
    final: true,
    more: 'To undo what it has done, use geneva cancel.',
  },
]

export function steerCommands(): AppCommand[] {
  return steerings.map(steerCommand)
}

function steerCommand(steering: Steering): AppCommand {
  const { verb, step = false } = steering
  const command = new AppCommand(verb, {
    description: steering.description,
    examples: [
      [`${verb} 4711${step ? ' charge' : ''} --by ann --reason 'the bank is back'`, 'one workflow'],
      [`${verb} --state paused --type Order --error Timeout`, 'all that the filter finds, after a question'],
      [`${verb} --state paused --older-than '1 day' --dry-run`, 'how many that would be'],
    ],
    more: `${steering.more} Exit code 3: you said no.`,
  }).argument('[id]', 'the id of a workflow; without it, a filter')
  if (step) {
    command.argument('[step]', 'the step (default: every step that has failed)')
    command.option('--step <step>', 'the same, for use with a filter')
  }
  filtering(asking(command))
    .option('--limit <count>', 'how many at most', wholeNumber(Number.MAX_SAFE_INTEGER))
    .option('--dry-run', 'tell what would happen, and change nothing')
    .option('-y, --yes', 'do not ask')
  if (verb === 'resolve') command.option('--output <json>', 'what the step would have returned', jsonValue)
  return command.locating().action(async (...given: unknown[]) => {
    const [id, third] = given as [string | undefined, string | SteerFlags | undefined]
    const flags = command.opts<SteerFlags>()
    const node = step && typeof third === 'string' ? third : (flags.step ?? null)
    const where = { ...flags, looks: flags.dryRun === true }
    await withGeneva(where, geneva => steer(geneva, steering, { id: id ?? null, step: node, flags }))
  })
}

interface Target {
  readonly id: string | null
  readonly step: string | null
  readonly flags: SteerFlags
}

async function steer(geneva: Geneva, steering: Steering, target: Target): Promise<void> {
  const filter = filterFrom(target.flags)
  if (target.id !== null && filter !== null) throw new WrongUsage('Give an id or a filter, not both.')
  if (target.id !== null) return steerOne(geneva, steering, { ...target, id: target.id })
  if (filter === null) {
    throw new WrongUsage(`Which workflows? Give an id, or a filter such as --state paused. All: --state active.`)
  }
  await steerMany(geneva, steering, { ...target, filter })
}

async function steerOne(geneva: Geneva, steering: Steering, { id, step, flags }: Target & { id: string }) {
  const { verb, past, final, step: about } = steering
  if (final) await refuseEnded(geneva, verb, id)
  const preview = verb === 'cancel' ? await geneva.previewRollback(id) : []
  if (flags.dryRun) return tellPreview(geneva, id, { verb, preview, json: flags.json === true })
  if (verb === 'cancel' && !flags.json) note(harmless(rollbackText(preview)))
  if (final && !(await confirmed(`${capital(verb)} workflow ${id}?`, flags))) return saidNo()
  await ask(geneva, verb, { id, step, flags })
  const workflow = await geneva.views.workflow(id)
  if (flags.json) return printJson(workflow)
  const name = `${workflow.type || 'Workflow'} ${id}`
  const done = about === true ? `${name}: ${step ?? 'what had failed'} ${past}. It` : name
  say(harmless(`${done} is now ${workflow.state}.`))
}

/** Before anything is shown or asked: nothing would come of it. */
async function refuseEnded(geneva: Geneva, verb: Verb, id: string): Promise<void> {
  const { state } = await geneva.views.workflow(id)
  if (isEnd(state)) throw new InvalidStateError(id, state, verb, 'It has ended.')
}

interface Preview {
  readonly verb: Verb
  readonly preview: readonly RollbackStep[]
  readonly json: boolean
}

async function tellPreview(geneva: Geneva, id: string, { verb, preview, json }: Preview): Promise<void> {
  const workflow = await geneva.views.workflow(id)
  if (json) return printJson(verb === 'cancel' ? { steps: preview } : workflow)
  const undone = verb === 'cancel' ? [rollbackText(preview)] : []
  const may = workflow.actions.join(', ') || 'do nothing more'
  say(harmless([...undone, `Nothing was changed. It is ${workflow.state}, and may be asked to ${may}.`].join('\n')))
}

async function steerMany(
  geneva: Geneva,
  { verb, past }: Steering,
  { flags, filter, step }: Target & { filter: ViewOptions },
): Promise<void> {
  await refuseUnknownTypes(geneva, flags)
  const limit = flags.limit === undefined ? {} : { limit: flags.limit }
  const bulk = geneva.all({ where: filter })
  const { found } = await bulk.pause({ dryRun: true, ...limit })
  const count = `${found} ${found === 1 ? 'workflow' : 'workflows'}`
  const sample = (await geneva.views.workflows({ state: 'active', ...filter, limit: sampleSize })).items
  if (flags.dryRun || found === 0) {
    if (!flags.json) return say(harmless([`${count} would be ${past}.`, ...sampleOf(sample, found)].join('\n')))
    return printJson(
      flags.dryRun ? { dryRun: true, count: found, capped: false, sample } : { dryRun: false, ...nobody },
    )
  }
  if (!flags.json && !flags.yes) note(harmless(sampleOf(sample, found).join('\n')))
  if (!(await confirmed(`${capital(verb)} ${count}?`, flags))) return saidNo()
  const output = 'output' in flags ? { output: flags.output } : {}
  // No more than were agreed on, whatever has been started meanwhile.
  const report = await bulk[verb]({ ...asked(flags), limit: found, ...output, ...(step === null ? {} : { step }) })
  if (report.changed < report.found) process.exitCode = failed
  if (flags.json) return printJson({ dryRun: false, ...report })
  const refused = report.refused.map(({ id, message }) => `  ${id}: ${message}`)
  const apart = refused.length === 0 ? [] : [`${report.found - report.changed} refused:`, ...refused]
  say(harmless([`${report.changed} of ${count} ${past}.`, ...apart].join('\n')))
}

/** What a request to many comes to where the filter finds none. */
const nobody: BulkReport = { found: 0, changed: 0, refused: [] }

/** An id behind `--type` is read as one more type, and the rest of the filter may find everything. */
async function refuseUnknownTypes(geneva: Geneva, { type }: SteerFlags): Promise<void> {
  const unknown = await unknownTypes(geneva, type)
  if (unknown !== null) throw new WrongUsage(`${unknown} For one workflow give its id alone, without a filter.`)
}

/** The request itself: to the workflow, to the step that is named, or to every step that has failed, or was given up, and waits for somebody. */
async function ask(geneva: Geneva, verb: Verb, { id, step, flags }: Target & { id: string }): Promise<void> {
  const options = asked(flags)
  if (verb === 'pause' || verb === 'resume' || verb === 'cancel' || verb === 'abort') return geneva[verb](id, options)
  const output = 'output' in flags ? { output: flags.output } : {}
  const act = (node: string) => geneva[verb](id, node, verb === 'resolve' ? { ...options, ...output } : options)
  if (step !== null) return act(step)
  const look = async () => failedSteps((await geneva.explain(id)).nodes, await geneva.deadLetters({ workflowId: id }))
  const steps = await look()
  if (steps.length === 0) throw new WrongUsage(`No step of workflow ${id} has failed: name the step that you mean.`)
  await settleEach(steps, act, look)
}

const sampleSize = 10

function sampleOf(sample: readonly WorkflowSummary[], found: number): string[] {
  const lines = sample.slice(0, found).map(({ id, type, state, at }) => {
    return `  ${type || 'Workflow'} ${id}, ${state}${at.length === 0 ? '' : ` at ${at.join(', ')}`}`
  })
  return found > lines.length ? [...lines, `  and ${found - lines.length} more`] : lines
}

/** What a cancel would undo, in order. */
function rollbackText(steps: readonly RollbackStep[]): string {
  if (steps.length === 0) return 'Nothing would be undone.'
  return ['Would be undone, in this order:', ...steps.map((step, index) => `  ${index + 1}. ${lineOf(step)}`)].join(
    '\n',
  )
}

function lineOf({ step, attempt, compensation }: RollbackStep): string {
  const what = `${step}${attempt > 1 ? ` (attempt ${attempt})` : ''}`
  return compensation === null ? `${what}: nothing to call` : `${what}: ${compensation}`
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
