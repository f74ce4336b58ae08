/**
 * Finds the hero of a workflow again when a step is about to run.
 */
import { decodeHeroId } from '../definition/hero.ts'
import type { WorkflowDefinition } from '../definition/workflow-definition.ts'
import { HeroTypeError } from '../errors.ts'
import type { WorkflowRecord } from '../store/records.ts'

/** `none`: started without a hero. `gone`: there was one, and it cannot be found. */
export type LoadedHero = { readonly kind: 'none' | 'gone' } | { readonly kind: 'found'; readonly hero: unknown }

export const noHero: LoadedHero = { kind: 'none' }

export async function loadHero(definition: WorkflowDefinition, workflow: WorkflowRecord): Promise<LoadedHero> {
  const { hero } = workflow
  if (hero === null) return noHero
  const type = definition.heroTypes.find(candidate => candidate.type === hero.type)
  if (type === undefined) {
    throw new HeroTypeError(
      `Workflow ${workflow.id} is about a hero of type ${hero.type}, which ${definition.type} no longer declares. Add it to \`this.heroes(...)\`.`,
    )
  }
  const record = await type.load(decodeHeroId(hero.idText, hero.idKind))
  return record === null ? { kind: 'gone' } : { kind: 'found', hero: record }
}

export function isHeroGone(loaded: LoadedHero | null): boolean {
  return loaded?.kind === 'gone'
}
