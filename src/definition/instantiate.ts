/** Makes the one instance that one execution runs on. */
import { DefinitionError } from '../errors.ts'
import { attach } from './attached-context.ts'
import { workflowMembers } from './node-name.ts'
import type { StepContext } from './step-context.ts'
import type { AnyWorkflow } from './workflow.ts'
import type { WorkflowDefinition } from './workflow-definition.ts'

/** Constructs the class, gives it its context, and freezes it. What the constructor throws comes through. */
export function instantiate(definition: WorkflowDefinition, context: StepContext): AnyWorkflow {
  const instance = new (definition.workflowClass as new () => AnyWorkflow)()
  // A field could not be seen when the class was registered, because nothing was constructed then.
  for (const name of Object.keys(instance)) {
    if (workflowMembers.has(name))
      throw new DefinitionError(`${definition.type}: its field ${name} hides Workflow's own member. Rename it.`)
  }
  attach(instance, { definition, context })
  return Object.freeze(instance)
}
