/** The workflow classes that one Geneva instance knows, by class and by every name under which they are stored. */
import { DefinitionError, UnknownWorkflowError } from '../errors.ts'
import { definitionOf } from './compile.ts'
import { classNameOf, type DeclaringClass, declarationsOf } from './declarations.ts'
import type { WorkflowDefinition } from './workflow-definition.ts'

export class Registry {
  readonly definitions: readonly WorkflowDefinition[]
  /** What the owner of the classes should hear about, though it is no mistake. */
  readonly warnings: readonly string[]
  readonly #byClass = new Map<DeclaringClass, WorkflowDefinition>()
  readonly #byType = new Map<string, WorkflowDefinition>()

  /** Registers all classes. Throws `DefinitionError` for one that cannot run, and for names that meet. */
  constructor(workflowClasses: readonly DeclaringClass[]) {
    this.definitions = Object.freeze(workflowClasses.map(workflowClass => this.#add(workflowClass)))
    for (const definition of this.definitions) this.#checkChildren(definition)
    this.warnings = Object.freeze(workflowClasses.flatMap(warningsAbout))
  }

  /** The definition of a class or of a stored name, present or former. Throws `UnknownWorkflowError`. */
  definitionFor(classOrType: DeclaringClass | string): WorkflowDefinition {
    const found = typeof classOrType === 'string' ? this.#byType.get(classOrType) : this.#byClass.get(classOrType)
    if (found) return found
    throw new UnknownWorkflowError(classNameOf(classOrType))
  }

  /** Whether a class is stored under that name, present or former. */
  has(type: string): boolean {
    return this.#byType.has(type)
  }

  /** A child that this process cannot start would only be noticed when its node runs. */
  #checkChildren({ type, nodes }: WorkflowDefinition): void {
    for (const { name, child } of nodes) {
      const target = child?.workflowClass()
      if (child === null || (typeof target === 'function' && this.#byClass.has(target as DeclaringClass))) continue
      throw new DefinitionError(
        `${type}, child ${name}: ${classNameOf(target)} is not registered. List it in \`new Geneva({ workflows: [...] })\`.`,
      )
    }
  }

  #add(workflowClass: DeclaringClass): WorkflowDefinition {
    const definition = definitionOf(workflowClass)
    if (this.#byClass.has(workflowClass))
      throw new DefinitionError(`${classNameOf(workflowClass)} is registered twice. List it once.`)
    this.#byClass.set(workflowClass, definition)
    for (const type of [definition.type, ...definition.formerTypes]) {
      const other = this.#byType.get(type)
      if (other) {
        throw new DefinitionError(
          `${classNameOf(workflowClass)} and ${classNameOf(other.workflowClass)} both have the stored name ${JSON.stringify(type)}. Give one of them another: \`this.named('...')\`.`,
        )
      }
      this.#byType.set(type, definition)
    }
    return definition
  }
}

/** Bundlers that minify rename classes, after which running workflows would not be found. */
function warningsAbout(workflowClass: DeclaringClass): string[] {
  if (declarationsOf(workflowClass).type !== null || workflowClass.name.length > 2) return []
  return [
    `The class name ${workflowClass.name} looks minified, and it is stored with every workflow. Call \`this.named('...')\` in its static block.`,
  ]
}
