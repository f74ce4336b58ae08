/** What callers meet who start, find or steer workflows. */
import { GenevaError } from './geneva-error.ts'

/** Another workflow of this type is active for this hero. `workflowId` is the one that holds the place. */
export class WorkflowAlreadyActiveError extends GenevaError {
  readonly workflowId: string
  constructor(type: string, hero: string, workflowId: string) {
    super(
      'ALREADY_ACTIVE',
      `${type} is already active for ${hero} as workflow ${workflowId}. Wait for it, cancel it, or allow several: \`allowMultiple: true\` for this start, \`this.allowMultiple()\` for the class.`,
    )
    this.workflowId = workflowId
  }
}

/** The idempotency key was used before with another hero or input. `workflowId` is the workflow that has the key. */
export class IdempotencyConflictError extends GenevaError {
  readonly workflowId: string
  constructor(type: string, key: string, workflowId: string) {
    super(
      'IDEMPOTENCY_CONFLICT',
      `The idempotency key ${JSON.stringify(key)} of ${type} belongs to workflow ${workflowId}, which was started with another hero or input. Use a new key.`,
    )
    this.workflowId = workflowId
  }
}

export class WorkflowNotFoundError extends GenevaError {
  readonly workflowId: string
  constructor(workflowId: string) {
    super(
      'WORKFLOW_NOT_FOUND',
      `There is no workflow with the id ${workflowId}. It may have been pruned, or the id belongs to another database.`,
    )
    this.workflowId = workflowId
  }
}

/** A request that the workflow's state does not allow. Nothing was changed. */
export class InvalidStateError extends GenevaError {
  readonly workflowId: string
  readonly state: string
  constructor(workflowId: string, state: string, request: string, remedy: string) {
    super('INVALID_STATE', `Workflow ${workflowId} is ${state}: cannot ${request} it. ${remedy}`)
    this.workflowId = workflowId
    this.state = state
  }
}

/** A node that waits for people was decided on by somebody else, or by the same person before. Nothing was changed. */
export class AlreadyDecidedError extends GenevaError {
  readonly workflowId: string
  constructor(workflowId: string, what: string) {
    super('ALREADY_DECIDED', `Workflow ${workflowId}: ${what} \`wf.decisions()\` shows what was decided.`)
    this.workflowId = workflowId
  }
}

/** `waitUntilFinished` met another end than `finished`. */
export class WorkflowNotFinishedError extends GenevaError {
  readonly workflowId: string
  readonly state: string
  constructor(workflowId: string, state: string, detail: string, options?: ErrorOptions) {
    super(
      'WORKFLOW_NOT_FINISHED',
      `Workflow ${workflowId} is ${state} and has no result${detail ? `: ${detail}` : '.'}`,
      options,
    )
    this.workflowId = workflowId
    this.state = state
  }
}

/** The time given to `waitUntilFinished` is over; the workflow goes on. */
export class WaitTimeoutError extends GenevaError {
  readonly workflowId: string
  constructor(workflowId: string, state: string, timeoutMs: number) {
    super(
      'WAIT_TIMEOUT',
      `Workflow ${workflowId} is still ${state} after ${timeoutMs} ms. It goes on; wait again, or look at its history.`,
    )
    this.workflowId = workflowId
  }
}

/** There is no dead letter with this id. */
export class LetterNotFoundError extends GenevaError {
  constructor(id: string) {
    super(
      'LETTER_NOT_FOUND',
      `There is no dead letter ${String(id)}. \`geneva.deadLetters()\` lists those that are open.`,
    )
  }
}
