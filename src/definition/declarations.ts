/**
 * What a class has declared so far. The first verb on a class copies what its parent declared, and from then on
 * the parent refuses verbs, so that parent and child can never change each other.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { DefinitionError } from '../errors.ts'
import type { DeadlineAction, MissingStepAction } from './graph.ts'
import type { HeroType } from './hero.ts'
import { type ClassLimits, noLimits } from './limit-options.ts'
import type { NodeRef } from './node-ref.ts'
import type { RetryPolicy } from './retry-notation.ts'
import type {
  AfterHook,
  AroundHook,
  BeforeHook,
  ExceptionRule,
  NodeDefinition,
  Test,
  WorkflowDefinition,
} from './workflow-definition.ts'

export type DeclaringClass = abstract new (...args: any[]) => unknown

/** A node and the reference its verb returned; both are shared with subclasses. */
export interface DeclaredNode {
  readonly definition: NodeDefinition
  readonly ref: NodeRef<any>
}

export interface Declarations {
  readonly className: string
  /** Why the class takes no more verbs. */
  sealed: string | null
  compiled: WorkflowDefinition | null
  /** Verbs that may be called once per class and have been. */
  readonly said: Set<string>
  type: string | null
  formerTypes: readonly string[]
  readonly nodes: DeclaredNode[]
  anonymousSteps: number
  renamed: ReadonlyMap<string, string>
  heroTypes: readonly HeroType<any, any>[]
  mayOutliveHero: boolean
  inputSchema: StandardSchemaV1 | null
  readonly cancelIf: Test[]
  /** In the order of their declaration. */
  readonly onException: ExceptionRule[]
  retry: RetryPolicy | null
  timeoutMs: number | null
  stopGraceMs: number
  deadlineMs: number | null
  onDeadline: DeadlineAction
  onMissingStep: MissingStepAction
  queue: string
  priority: number
  limits: ClassLimits
  allowMultiple: boolean
  resultNode: string | null
  readonly beforeEach: BeforeHook[]
  readonly afterEach: AfterHook[]
  readonly aroundEach: AroundHook[]
}

/** How long a rollback waits for code that still runs, where nobody says. */
export const defaultStopGraceMs = 30_000

const key = Symbol('geneva-drive.declarations')

/** The declarations of a class to add to. Throws `DefinitionError` on a class that takes no more. */
export function openDeclarations(workflowClass: DeclaringClass): Declarations {
  const declarations = declarationsOf(workflowClass)
  if (declarations.sealed === null) return declarations
  throw new DefinitionError(
    `${declarations.className} takes no more declarations: ${declarations.sealed}. Put them in its static block, or in that of a subclass.`,
  )
}

/** The declarations of a class, inherited ones included. Looking closes its parents, as they have been extended. */
export function declarationsOf(workflowClass: DeclaringClass): Declarations {
  if (typeof workflowClass !== 'function' || !(key in workflowClass)) {
    throw new DefinitionError(
      `${classNameOf(workflowClass)} is not a workflow class. Write \`class ... extends Workflow\`, with the Workflow of this copy of geneva-drive.`,
    )
  }
  if (Object.hasOwn(workflowClass, key)) return (workflowClass as unknown as { [key]: Declarations })[key]
  const parent = declarationsOf(Object.getPrototypeOf(workflowClass))
  parent.sealed ??= `it has been extended by ${classNameOf(workflowClass)}`
  return keep(workflowClass, inherit(parent, classNameOf(workflowClass)))
}

/** Marks the class that all workflow classes extend, which itself declares nothing. */
export function asRootClass(workflowClass: DeclaringClass): void {
  keep(workflowClass, { ...emptyDeclarations(workflowClass.name), sealed: 'it is the base of all workflows' })
}

/** Throws `DefinitionError` when a verb that may be called once per class is called again. */
export function sayOnce(declarations: Declarations, verb: string): void {
  if (declarations.said.has(verb)) {
    throw new DefinitionError(`${declarations.className}: \`this.${verb}(...)\` was called twice. Say it once.`)
  }
  declarations.said.add(verb)
}

export function classNameOf(workflowClass: unknown): string {
  if (typeof workflowClass !== 'function') return String(workflowClass)
  return workflowClass.name === '' ? '(anonymous class)' : workflowClass.name
}

function inherit(parent: Declarations, className: string): Declarations {
  return {
    ...parent,
    className,
    sealed: null,
    compiled: null,
    said: new Set(),
    // A stored name belongs to one class.
    type: null,
    formerTypes: [],
    nodes: [...parent.nodes],
    cancelIf: [...parent.cancelIf],
    onException: [...parent.onException],
    beforeEach: [...parent.beforeEach],
    afterEach: [...parent.afterEach],
    aroundEach: [...parent.aroundEach],
  }
}

function emptyDeclarations(className: string): Declarations {
  return {
    className,
    sealed: null,
    compiled: null,
    said: new Set(),
    type: null,
    formerTypes: [],
    nodes: [],
    anonymousSteps: 0,
    renamed: new Map(),
    heroTypes: [],
    mayOutliveHero: false,
    inputSchema: null,
    cancelIf: [],
    onException: [],
    retry: null,
    timeoutMs: null,
    stopGraceMs: defaultStopGraceMs,
    deadlineMs: null,
    onDeadline: 'cancel',
    onMissingStep: 'pause',
    queue: 'default',
    priority: 0,
    limits: { ...noLimits, perKey: null },
    allowMultiple: false,
    resultNode: null,
    beforeEach: [],
    afterEach: [],
    aroundEach: [],
  }
}

function keep(workflowClass: DeclaringClass, declarations: Declarations): Declarations {
  Object.defineProperty(workflowClass, key, { value: declarations })
  return declarations
}
