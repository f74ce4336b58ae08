/** What the method of a node receives that has waited: read when it runs, and checked by the code as it is then. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { toInputIssue } from '../definition/validate-input.ts'
import type { NodeDefinition, WaitSettings } from '../definition/workflow-definition.ts'
import { InputValidationError, InvariantError, NothingCameError } from '../errors.ts'
import { describeSpan } from '../primitives/describe-span.ts'
import { decodeValue } from '../primitives/json-codec.ts'
import { toDate } from '../primitives/to-date.ts'
import type { ClaimedExecution, DecisionRecord } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { Came } from './stored-input.ts'

export interface MessageReader {
  /** Throws `NothingCameError` when that is what has ended the wait, and `InputValidationError` for data that does not fit. */
  read(node: NodeDefinition, settings: WaitSettings, came: Came): Promise<unknown>
}

export function messageReader(store: Store, { workflow }: Pick<ClaimedExecution, 'workflow'>): MessageReader {
  return {
    async read({ name }, { schema, timeoutMs }, came) {
      if (came.came === 'nothing') throw new NothingCameError(workflow.id, name, describeSpan(timeoutMs ?? 0))
      const what = givenTo({ kind: came.came, step: name, type: workflow.type, workflowId: workflow.id })
      if (came.came === 'signal') {
        const signal = await store.findSignal(came.id)
        if (signal === null) throw new InvariantError(`Signal ${came.id} of workflow ${workflow.id} is gone.`)
        const payload = await fitting(schema, decodeValue(signal.payload), what)
        return Object.freeze({ payload, by: signal.by, at: toDate(signal.at) })
      }
      const records = await store.decisions({ executionId: came.on })
      const decisions = await Promise.all(records.map(record => oneDecision(schema, record, what)))
      return Object.freeze({ ...decisions.at(-1), decisions: Object.freeze(decisions) })
    },
  }
}

async function oneDecision(schema: StandardSchemaV1 | null, record: DecisionRecord, what: string) {
  const { decision, by, comment, at } = record
  const data = await fitting(schema, decodeValue(record.data), what)
  return Object.freeze({ decision, by, comment, data, at: toDate(at) })
}

interface Given {
  readonly kind: 'decision' | 'signal'
  readonly step: string
  readonly type: string
  readonly workflowId: string
}

/** What was given to a step that waits, in the words of an error. */
export function givenTo({ kind, step, type, workflowId }: Given): string {
  const what = kind === 'signal' ? `The payload of the signal ${step}` : `The data of the decision on step ${step}`
  return `${what} of ${type || 'workflow'} ${workflowId}`
}

/** The value as the schema yields it, or as it is where there is none. `then`: what is not done with one that does not fit. */
export async function fitting(
  schema: StandardSchemaV1 | null,
  value: unknown,
  what: string,
  then: string | null = null,
): Promise<unknown> {
  if (schema === null) return value
  const result = await schema['~standard'].validate(value)
  if (result.issues) throw new InputValidationError(what, result.issues.map(toInputIssue), then)
  return result.value
}
