/** Tells which hero a workflow is started for, from a record or a reference. */
import { HeroTypeError } from '../errors.ts'
import {
  describeHero,
  encodeHeroId,
  type HeroIdKind,
  type HeroRef,
  type HeroType,
  isHeroRef,
  isRecord,
} from './hero.ts'
import type { WorkflowDefinition } from './workflow-definition.ts'

export interface HeroIdentity {
  readonly type: string
  readonly idText: string
  readonly idKind: HeroIdKind
}

/**
 * Says which hero `start` was given: a record or a reference, checked against the types the class declares.
 * `null` is no hero, which only a class without hero types, or one that may outlive its hero, accepts.
 */
export function identifyHero(definition: WorkflowDefinition, heroOrRef: unknown): HeroIdentity | null {
  const { heroTypes, type: workflow } = definition
  if (heroOrRef === undefined || heroOrRef === null) {
    if (heroTypes.length === 0 || definition.mayOutliveHero) return null
    throw new HeroTypeError(
      `${workflow} needs a hero (${typeList(heroTypes)}). Pass \`{ hero }\`, or call \`this.mayOutliveHero()\` in the class if it may run without.`,
    )
  }
  if (heroTypes.length === 0) {
    throw new HeroTypeError(
      `${workflow} declares no hero type. Call \`this.heroes(...)\` in its static block, or start it without a hero.`,
    )
  }
  const ref = isHeroRef(heroOrRef)
    ? declaredRef(definition, heroOrRef)
    : typeOfRecord(definition, heroOrRef).of(heroOrRef)
  const { text, kind } = encodeHeroId(ref.id, ref.heroType)
  return { type: ref.heroType, idText: text, idKind: kind }
}

/** The hero of a workflow without a class, which cannot say how to tell a record's type: only a reference will do. */
export function identifyAnyHero(ref: unknown): HeroIdentity | null {
  if (ref === undefined || ref === null) return null
  if (!isHeroRef(ref)) {
    throw new HeroTypeError(
      `A graph takes its hero as a reference, like \`Orders.ref(id)\` or \`Orders.of(record)\`, not ${describeHero(ref)}.`,
    )
  }
  const { text, kind } = encodeHeroId(ref.id, ref.heroType)
  return { type: ref.heroType, idText: text, idKind: kind }
}

function declaredRef(definition: WorkflowDefinition, ref: HeroRef): HeroRef {
  if (definition.heroTypes.some(heroType => heroType.type === ref.heroType)) return ref
  throw new HeroTypeError(
    `${definition.type} does not accept heroes of type ${ref.heroType}, only ${typeList(definition.heroTypes)}. Pass another hero, or add the type to \`this.heroes(...)\`.`,
  )
}

function typeOfRecord(definition: WorkflowDefinition, record: unknown): HeroType<any, any> {
  const matching = isRecord(record) ? definition.heroTypes.filter(heroType => heroType.is(record)) : []
  const [found, second] = matching
  if (found && !second) return found
  const problem = second
    ? `is taken for ${typeList(matching)} alike`
    : `is none of its hero types (${typeList(definition.heroTypes)})`
  throw new HeroTypeError(
    `The hero for ${definition.type} ${problem}: ${describeHero(record)}. Pass a reference, like \`Orders.of(record)\` or \`Orders.ref(id)\`.`,
  )
}

function typeList(heroTypes: readonly HeroType<any, any>[]): string {
  return heroTypes.map(heroType => heroType.type).join(', ')
}
