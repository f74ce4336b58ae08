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

async function checked(engine: Engine, letter: LetterRecord, input: unknown): Promise<string> {
  if (letter.kind === 'compensate') {
    throw new InvalidArgumentError(
      `Dead letter ${letter.id} is of the compensation that undoes what step ${letter.node} of workflow ${letter.workflowId} has done, so it has no input to be replaced. Requeue it as it is.`,
    )
  }
  const workflow = await engine.find(letter.workflowId)
  const course = (await engine.courses.of([workflow])).get(workflow.id)
  const what = `The input for step ${letter.nodeName ?? letter.node} of workflow ${workflow.id}`
  if (course !== undefined) await checkFor(engine, course, letter, input)
  return encodeValue(input, { what, maxBytes }) ?? 'null'
}

/** What nobody here has the code for is checked by the worker that runs it. */
async function checkFor(
  engine: Engine,
  { graph, frozen }: Course,
  letter: LetterRecord,
  input: unknown,
): Promise<void> {
  const node = graph.find(currentName(graph, letter.node))
  const works = node === null ? undefined : worksOn[node.kind]
  if (works !== undefined) {
    throw new InvalidArgumentError(
      `Step ${letter.nodeName ?? letter.node} of workflow ${letter.workflowId} ${works}, so it has no input to be replaced. Requeue it without an input, or resolve or skip it.`,
    )
  }
  const job = frozen?.nodes[letter.node]?.job
  const known = job === undefined ? null : engine.jobs.find(job)
  if (known !== null) await validateArgs(known, input, node?.name ?? letter.node)
}
