/** One deploy over a workflow that is under way: the version before works until it is told to stop, then a process with the new one is there. */
import { onTestFinished } from 'vitest'
import type { AnyWorkflow, ConcreteClass, Geneva, Workflow, WorkflowHandle } from '../../src/index.ts'
import { type GenevaUnderTest, quickly } from './use-geneva.ts'

export interface Versions {
  readonly V1: ConcreteClass<AnyWorkflow>
  readonly V2: ConcreteClass<AnyWorkflow>
  /** What both have beside it. */
  readonly also?: readonly ConcreteClass<AnyWorkflow>[]
}

export interface Deployed {
  /** As the new version sees it; nobody has touched it with that yet. */
  readonly wf: WorkflowHandle<any>
  readonly fresh: Geneva
}

/** `work`: what the version before does; without it, whatever is due. */
export async function deployOver(
  under: GenevaUnderTest,
  { V1, V2, also = [] }: Versions,
  work: (old: Geneva, id: string) => Promise<unknown> = old => old.runDue(quickly),
): Promise<Deployed> {
  const old = under.another({ workflows: [V1, ...also] })
  const { id } = await old.start(V1 as ConcreteClass<Workflow>)
  await work(old, id)
  await old.close()
  const fresh = under.another({ workflows: [V2, ...also] })
  onTestFinished(() => fresh.close())
  const wf = await fresh.find(id)
  if (wf === null) throw new Error(`Workflow ${id} is gone.`)
  return { wf, fresh }
}

/** What a policy of a branch that has waited for a join does once the join is lost, and what becomes of a step before the fork. */
export const waitingPolicies = [
  ['pause', 'paused', 'completed'],
  ['cancel', 'canceled', 'rolled_back'],
  ['rollback', 'failed', 'rolled_back'],
  ['dlq', 'dlq', 'completed'],
] as const

export type WaitingPolicy = (typeof waitingPolicies)[number][0]
