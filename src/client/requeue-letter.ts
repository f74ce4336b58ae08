/** Requeues a dead letter, with what its execution worked on or with something else, which is checked before anything changes. */
import type { NodeKind } from '../definition/graph.ts'
import { validateArgs } from '../definition/job.ts'
import type { Course } from '../engine/courses.ts'
import type { Engine } from '../engine/engine.ts'
import { currentName } from '../engine/plan.ts'
import { InvalidArgumentError } from '../errors.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import type { LetterRecord } from '../store/records.ts'
import { type RequestOptions, requestFrom } from './request-options.ts'

export interface RequeueOptions extends RequestOptions {
  /**
   * What the execution works on from now on: the arguments of a job, the item of an `each` node; any other step reads it as
   * `this.execution.input`. A compensation has none.
   */
  readonly input?: unknown
}

const maxBytes = 1024 * 1024

/** What nobody can give them: they get it in another way, and keep it. */
const worksOn: Readonly<Partial<Record<NodeKind, string>>> = {
  child: 'asks for its child when it runs',
  each: 'asks for its items when it runs',
  human: 'works on what people have decided',
  signal: 'works on what was sent to it',
}

export async function requeueLetter(engine: Engine, letterId: string, options: RequeueOptions = {}): Promise<void> {
  const request = requestFrom(options, ['input'])
  const { input } = options
  const letter = input === undefined ? null : await engine.findLetter(letterId)
  await engine.requeue({ letterId, request, input: letter === null ? null : await checked(engine, letter, input) })
}

/** Whether its execution can be given another input. Where it gets it in another way, and for a compensation, nobody can. */
export async function takesInput(engine: Engine, letter: LetterRecord): Promise<boolean> {
  return whyNoInput(letter, await courseOf(engine, letter)) === null
}

async function checked(engine: Engine, letter: LetterRecord, input: unknown): Promise<string> {
  const course = await courseOf(engine, letter)
  const why = whyNoInput(letter, course)
  if (why !== null) throw new InvalidArgumentError(why)
  const name = letter.nodeName ?? letter.node
  const job = course?.frozen?.nodes[letter.node]?.job
  // What nobody here has the code for is checked by the worker that runs it.
  const known = job === undefined ? null : engine.jobs.find(job)
  if (known !== null) await validateArgs(known, input, name)
  const what = `The input for step ${name} of workflow ${letter.workflowId}`
  return encodeValue(input, { what, maxBytes }) ?? 'null'
}

async function courseOf(engine: Engine, letter: LetterRecord): Promise<Course | null> {
  const workflow = await engine.find(letter.workflowId)
  return (await engine.courses.of([workflow])).get(workflow.id) ?? null
}

function whyNoInput(letter: LetterRecord, course: Course | null): string | null {
  const { id, node, workflowId } = letter
  if (letter.kind === 'compensate') {
    return `Dead letter ${id} is of the compensation that undoes what step ${node} of workflow ${workflowId} has done, so it has no input to be replaced. Requeue it as it is.`
  }
  const found = course?.graph.find(currentName(course.graph, node)) ?? null
  const works = found === null ? undefined : worksOn[found.kind]
  if (works === undefined) return null
  return `Step ${letter.nodeName ?? node} of workflow ${workflowId} ${works}, so it has no input to be replaced. Requeue it without an input, or resolve or skip it.`
}
