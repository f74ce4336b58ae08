/**
 * Sagas drawn at random: steps that can be undone, forks with every kind of join, conditions, save points, people and
 * messages, nested in any way, as plain data that can be shrunk and printed; and the class that a plan stands for.
 */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import fc from 'fast-check'
import { definitionOf } from '../../src/definition/compile.ts'
import { type AnyWorkflow, type ConcreteClass, Workflow } from '../../src/index.ts'

/** How a step is undone. `careful`: not if it has failed. `once`: by a call that is never repeated. */
export type Undo = 'no' | 'undo' | 'careful' | 'once'
/** Called by the engine once and never again. `asked`: its own code says whether a call that was lost has happened. */
export type Once = 'no' | 'left' | 'asked'
export type JoinChoice = 'all' | 'any' | 'settled' | 2 | false

export type Member =
  | { readonly kind: 'step' | 'apart'; readonly undo: Undo; readonly once: Once }
  | { readonly kind: 'signal'; readonly undo: Undo }
  /** `back`: a rejection goes back so many members, where that can be. */
  | { readonly kind: 'human'; readonly undo: Undo; readonly quorum: 1 | 2; readonly onReject: Reject }
  | { readonly kind: 'fork'; readonly join: JoinChoice; readonly branches: readonly (readonly Member[])[] }
  | { readonly kind: 'condition'; readonly then: readonly Member[]; readonly else: readonly Member[] }
  | { readonly kind: 'savePoint' }

type Reject = 'abort' | 'rollback' | 1 | 2 | 3

export type SagaPlan = readonly Member[]

const undo = fc.constantFrom<Undo>('undo', 'undo', 'undo', 'no', 'careful', 'once')
const once = fc.constantFrom<Once>('no', 'no', 'no', 'no', 'left', 'asked')
const step = fc.record({ kind: fc.constant('step' as const), undo, once })
const signal = fc.record({ kind: fc.constant('signal' as const), undo })
const human = fc.record({
  kind: fc.constant('human' as const),
  undo,
  quorum: fc.constantFrom<1 | 2>(1, 1, 2),
  onReject: fc.constantFrom<Reject>('abort', 'rollback', 1, 2, 3),
})

const nested = fc.letrec<{ chain: Member[]; member: Member; fork: Member; condition: Member }>(tie => ({
  chain: fc.array(tie('member'), { minLength: 1, maxLength: 3, depthIdentifier: 'saga', size: 'small' }),
  member: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'saga' },
    { weight: 6, arbitrary: step },
    { weight: 2, arbitrary: tie('fork') },
    { weight: 2, arbitrary: tie('condition') },
    { weight: 1, arbitrary: human },
    { weight: 1, arbitrary: signal },
  ) as fc.Arbitrary<Member>,
  fork: fc.record({
    kind: fc.constant('fork' as const),
    join: fc.constantFrom<JoinChoice>('all', 'all', 'any', 'settled', 2, false),
    branches: fc.array(tie('chain'), { minLength: 2, maxLength: 3 }),
  }),
  condition: fc.record({
    kind: fc.constant('condition' as const),
    then: fc.oneof(tie('chain'), fc.constant([])),
    else: tie('chain'),
  }),
}))

/** Save points and steps apart from the chain stand outside of branches only. */
export const anySaga: fc.Arbitrary<SagaPlan> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: nested.member },
    { weight: 1, arbitrary: fc.constant<Member>({ kind: 'savePoint' }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('apart' as const), undo, once }) as fc.Arbitrary<Member> },
  ),
  { minLength: 1, maxLength: 6 },
)

/** The code behind the nodes. */
export interface SagaCode {
  readonly options?: (name: string) => object
  readonly undoOptions?: object
  body(workflow: AnyWorkflow, name: string, argument: unknown): unknown
  test(workflow: AnyWorkflow, name: string): boolean | Promise<boolean>
  undo(workflow: AnyWorkflow, argument: unknown): unknown
  /** Whether a call that was lost has happened. Left out: every other time. */
  happened?(workflow: AnyWorkflow): boolean
}

/** The verbs, without the names that the compiler cannot know here. */
type Verbs = Record<string, (name: string, ...rest: unknown[]) => unknown>

export function sagaClass(plan: SagaPlan, type: string, code: SagaCode): ConcreteClass<AnyWorkflow> {
  for (const goesBack of [true, false]) {
    class Saga extends Workflow {
      static {
        this.named(type)
      }
    }
    Object.defineProperty(Saga.prototype, 'takeBack', {
      value(this: AnyWorkflow, argument: unknown) {
        return code.undo(this, argument)
      },
    })
    Object.defineProperty(Saga.prototype, 'lookUp', {
      value(this: AnyWorkflow) {
        return { happened: code.happened?.(this) ?? this.execution.attempt % 2 === 0 }
      },
    })
    try {
      new Declaring(Saga as never, code, goesBack).all(Saga as unknown as Verbs, plan, true)
      // Compiled here, since that is when a way back that cannot be is found out.
      definitionOf(Saga)
      return Saga as unknown as ConcreteClass<AnyWorkflow>
    } catch (error) {
      if (!goesBack || !String(error).includes('goes back')) throw error
    }
  }
  throw new Error('Without ways back there is nothing to refuse.')
}

class Declaring {
  readonly #class: { readonly prototype: object }
  readonly #code: SagaCode
  readonly #goesBack: boolean
  #count = 0

  constructor(of: { readonly prototype: object }, code: SagaCode, goesBack: boolean) {
    this.#class = of
    this.#code = code
    this.#goesBack = goesBack
  }

  /** `back` can name what stands before in the same chain, if nothing there goes its own way. */
  all(verbs: Verbs, members: readonly Member[], top = false): void {
    const before: string[] = []
    for (const member of members) {
      const name = this.#one(verbs, member, top ? before : [])
      if (member.kind !== 'apart' && member.kind !== 'savePoint') before.push(name)
    }
  }

  #one(verbs: Verbs, member: Member, before: readonly string[]): string {
    const name = `${member.kind === 'savePoint' ? 'saved' : member.kind}${this.#count++}`
    const options = this.#code.options?.(name) ?? {}
    const code = this.#code
    if (member.kind === 'savePoint') verbs.savePoint?.(name)
    else if (member.kind === 'fork') {
      const { join, branches } = member
      const named = branches.map((branch, index) => [`b${index}`, (b: Verbs) => this.all(b, branch)] as const)
      const rule = typeof join === 'number' ? { atLeast: join } : join
      verbs.fork?.(name, Object.fromEntries(named), { join: rule })
    } else if (member.kind === 'condition') {
      const { then, else: otherwise } = member
      verbs.condition?.(name, (workflow: AnyWorkflow) => code.test(workflow, name), {
        ...options,
        ...(then.length > 0 && { then: (b: Verbs) => this.all(b, then) }),
        ...(otherwise.length > 0 && { else: (b: Verbs) => this.all(b, otherwise) }),
      })
    } else {
      Object.defineProperty(this.#class.prototype, name, {
        value(this: AnyWorkflow, argument: unknown) {
          return code.body(this, name, argument)
        },
      })
      const verb = member.kind === 'apart' ? 'task' : member.kind === 'signal' ? 'waitFor' : member.kind
      verbs[verb]?.(name, {
        ...options,
        ...onceIn(member),
        ...this.#undoing(member.undo),
        ...this.#place(member, before),
      })
    }
    return name
  }

  #undoing(undo: Undo): object {
    if (undo === 'no') return {}
    const given = { step: 'takeBack', ...this.#code.undoOptions }
    if (undo === 'once') return { compensate: { ...given, idempotent: false, retry: undefined } }
    return { compensate: { ...given, afterFailure: undo !== 'careful' } }
  }

  #place(member: Member, before: readonly string[]): object {
    if (member.kind === 'apart') return { dependsOn: null }
    if (member.kind !== 'human') return {}
    const { quorum, onReject } = member
    if (typeof onReject === 'string') return { quorum, onReject, deadline: '1 hour' }
    const backTo = before.at(-onReject)
    return { quorum, ...(backTo !== undefined && this.#goesBack ? { onReject: { backTo } } : { onReject: 'rollback' }) }
  }
}

/** Retries are for calls that may be repeated. */
function onceIn(member: Member): object {
  if ((member.kind !== 'step' && member.kind !== 'apart') || member.once === 'no') return {}
  return { idempotent: false, retry: undefined, ...(member.once === 'asked' && { reconcile: 'lookUp' }) }
}
