/** Mistakes in definitions, arguments, values and graphs: found before anything is written. */
import { GenevaError } from './geneva-error.ts'

/** A mistake in a workflow class, raised when the class is defined or registered. */
export class DefinitionError extends GenevaError {
  constructor(message: string) {
    super('DEFINITION', message)
  }
}

/** An option, name or id that cannot be right, whatever the database holds. */
export class InvalidArgumentError extends GenevaError {
  constructor(message: string, options?: ErrorOptions) {
    super('INVALID_ARGUMENT', message, options)
  }
}

export interface InputIssue {
  readonly message: string
  readonly path?: string
}

/** The input of a workflow, the data of a decision or the payload of a signal did not pass its schema. Nothing was written. */
export class InputValidationError extends GenevaError {
  readonly issues: readonly InputIssue[]
  /** `then`: what was not done because of it. */
  constructor(what: string, issues: readonly InputIssue[], then: string | null = null) {
    super('INPUT_INVALID', `${what} is not valid: ${listOf(issues)}.${then === null ? '' : ` ${then}`}`)
    this.issues = issues
  }
}

function listOf(issues: readonly InputIssue[]): string {
  return issues.map(issue => (issue.path ? `${issue.path}: ${issue.message}` : issue.message)).join('; ')
}

/** A value holds something that cannot be kept in the database: a function, a symbol, a cycle, an unknown class. */
export class UnstorableValueError extends GenevaError {
  readonly path: string
  constructor(what: string, path: string, reason: string) {
    super(
      'UNSTORABLE_VALUE',
      `${what} cannot be stored: ${reason} at ${path}. Use plain data: objects, arrays, strings, numbers, bigints, dates, bytes.`,
    )
    this.path = path
  }
}

/** A value is larger than its limit. Nothing was written. */
export class ValueTooLargeError extends GenevaError {
  readonly bytes: number
  constructor(what: string, bytes: number, limit: number) {
    super(
      'VALUE_TOO_LARGE',
      `${what} takes ${bytes} bytes, the limit is ${limit}. Store the data elsewhere and keep a reference to it, or raise the limit.`,
    )
    this.bytes = bytes
  }
}

/** A class or stored type name that this Geneva instance was not given. */
export class UnknownWorkflowError extends GenevaError {
  constructor(name: string) {
    super(
      'UNKNOWN_WORKFLOW',
      `The workflow class ${name} is not registered. Add it to \`new Geneva({ workflows: [...] })\`.`,
    )
  }
}

/** A mistake in a graph that was built at run time or imported. Nothing was written. */
export class InvalidGraphError extends GenevaError {
  constructor(message: string, options?: ErrorOptions) {
    super('INVALID_GRAPH', message, options)
  }
}

/** A graph has more nodes, edges or bytes than its limit. Nothing was written. */
export class GraphTooLargeError extends GenevaError {
  readonly limit: 'nodes' | 'edges' | 'bytes'
  constructor(limit: 'nodes' | 'edges' | 'bytes', actual: number, allowed: number) {
    super(
      'GRAPH_TOO_LARGE',
      `The graph has grown to ${actual} ${limit}, the limit is ${allowed}. Spread the work over several workflows, or raise the limit.`,
    )
    this.limit = limit
  }
}

/** What a node passes to its job did not pass the job's schema, once the outputs it refers to were filled in. */
export class ArgsValidationError extends GenevaError {
  readonly issues: readonly InputIssue[]
  constructor(job: string, node: string, issues: readonly InputIssue[]) {
    super(
      'ARGS_INVALID',
      `The arguments of node ${node} are not what job ${job} takes: ${listOf(issues)}. Correct the graph, the job's schema or the outputs that were filled in, then resume.`,
    )
    this.issues = issues
  }
}

/** A hero that the class does not declare, or that its type cannot identify. */
export class HeroTypeError extends GenevaError {
  constructor(message: string) {
    super('HERO_TYPE', message)
  }
}

/** The hero of a workflow could not be found while its code asked for it. */
export class HeroGoneError extends GenevaError {
  constructor(workflowId: string, hero: string) {
    super(
      'HERO_GONE',
      `The hero ${hero} of workflow ${workflowId} no longer exists. Call \`this.mayOutliveHero()\` in the class if it may go on without.`,
    )
  }
}
