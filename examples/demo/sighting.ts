/** What the demo sees of its workflows at one moment, read through the public API like any application would. */
import type { Execution, WorkflowHandle, WorkflowState } from '../../src/index.ts'

export interface Actor {
  readonly label: string
  /** All steps in order, also those that are still to come. */
  readonly steps: readonly string[]
  readonly workflow: WorkflowHandle<any>
}

export interface Sighting {
  readonly actor: Actor
  readonly state: WorkflowState
  readonly executions: readonly Execution[]
}

export function look(actors: readonly Actor[]): Promise<Sighting[]> {
  return Promise.all(
    actors.map(async actor => {
      const { state } = await actor.workflow.refresh()
      return { actor, state, executions: await actor.workflow.history() }
    }),
  )
}

export function latestOf(sighting: Sighting, step: string): Execution | undefined {
  return sighting.executions.findLast(execution => execution.step === step)
}

export function running(sightings: readonly Sighting[]): Execution[] {
  return sightings.flatMap(({ executions }) => executions.filter(execution => execution.state === 'in_progress'))
}

/** When the next step falls due if all of them sleep; `null` if one runs or is due, or if none is left. */
export function nextWakeUp(sightings: readonly Sighting[], now: Date): Date | null {
  if (running(sightings).length > 0) return null
  const due = sightings.flatMap(({ executions }) =>
    executions.filter(execution => execution.state === 'scheduled').map(execution => execution.scheduledFor),
  )
  const earliest = due.toSorted((a, b) => a.getTime() - b.getTime())[0]
  return earliest && earliest > now ? earliest : null
}
