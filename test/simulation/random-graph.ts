/**
 * Draws a graph from a seed: its nodes, what they depend on, what happens when they throw, and what each call of them
 * will do. Plain data; nothing here knows the engine.
 */
import type { Random } from '../programs/harness/seeded-random.ts'

/** What one call of a node does. */
export type Act = 'succeed' | 'skip' | 'throw' | 'reattempt' | 'reattempt later' | 'suspend' | Ending

/** Acts that concern the whole workflow. */
export type Ending = 'cancel' | 'finish' | 'pause'

export interface ThrowPolicy {
  readonly action: 'pause' | 'skip' | 'cancel' | 'dlq' | 'reattempt'
  /** How many failures are followed by another attempt, and what comes then. For `reattempt` only. */
  readonly limit: number
  readonly then: 'pause' | 'skip' | 'cancel' | 'dlq'
}

export interface SimulatedNode {
  readonly name: string
  /** `each` stands in classes only, `resumable` too. */
  readonly kind: 'step' | 'resumable' | 'each'
  readonly parents: readonly string[]
  /** It falls due an hour after its parents have ended. */
  readonly waits: boolean
  /** How often it is called when it throws, the first call included. */
  readonly retry: { readonly attempts: number; readonly later: boolean } | null
  readonly policy: ThrowPolicy
  /** A class asks a condition; a call that skips does so there. */
  readonly conditional: boolean
  /** What its calls do, one after the other; when they are used up, it succeeds. */
  readonly script: readonly Act[]
  /** The scripts of the items of an `each` node. */
  readonly items: readonly (readonly Act[])[]
  readonly concurrency: number | null
  /** The nodes of one `fanOut` share everything but name and script. */
  readonly fanOut: number | null
}

export interface SimulatedGraph {
  readonly form: 'class' | 'built'
  readonly nodes: readonly SimulatedNode[]
}

type Shape = 'chain' | 'layers' | 'any' | 'narrow'

export function randomGraph(random: Random): SimulatedGraph {
  const form = random.pick(['class', 'class', 'built'] as const)
  const shape = random.pick(['chain', 'layers', 'layers', 'any', 'any', 'narrow'] as const)
  const size = random.between(2, random.pick([6, 12, 20, 40]))
  const parents = parentLists(random, shape, size)
  // Trouble is drawn per graph, so that there are calm ones too.
  const climate = random.pick([mild, grim])(random.pick([0, 15, 35, 60]))
  const nodes: SimulatedNode[] = parents.map((list, index) => ({
    name: nameOf(index),
    parents: list.map(nameOf),
    fanOut: null,
    ...randomWork(random, form, climate),
  }))
  return { form, nodes: form === 'built' ? withFanOuts(random, nodes) : nodes }
}

function nameOf(index: number): string {
  return `${String.fromCharCode(97 + (index % 26))}${index < 26 ? '' : Math.floor(index / 26)}`
}

/** For each node the numbers of the nodes before it that it depends on. */
function parentLists(random: Random, shape: Shape, size: number): number[][] {
  const numbers = Array.from({ length: size }, (_, index) => index)
  if (shape === 'chain') return numbers.map(index => (index === 0 ? [] : [index - 1]))
  if (shape === 'layers') {
    let before: number[] = []
    let layer: number[] = []
    let left = 0
    return numbers.map(index => {
      if (left === 0) {
        before = layer
        layer = []
        left = random.between(1, 6)
      }
      left--
      layer.push(index)
      return before.filter(() => random.between(0, 2) > 0)
    })
  }
  const reach = shape === 'narrow' ? 3 : size
  return numbers.map(index => {
    const near = numbers.slice(Math.max(0, index - reach), index)
    return random.shuffle(near).slice(0, random.pick([0, 1, 1, 2, 2, 3, 6]))
  })
}

type Work = Omit<SimulatedNode, 'name' | 'parents' | 'fanOut'>

interface Climate {
  /** How many nodes of a hundred do something else than succeed. */
  readonly trouble: number
  /** One act of so many concerns the whole workflow. */
  readonly calm: number
  readonly policies: readonly ThrowPolicy['then'][]
}

function mild(trouble: number): Climate {
  return { trouble, calm: 4, policies: ['pause', 'pause', 'pause', 'skip', 'cancel', 'dlq'] }
}

/** Much is given up and little ends early, so that dead letters meet each other. */
function grim(trouble: number): Climate {
  return { trouble: trouble + 20, calm: 20, policies: ['pause', 'skip', 'dlq', 'dlq', 'dlq', 'dlq'] }
}

function randomWork(random: Random, form: 'class' | 'built', climate: Climate): Work {
  const kinds =
    form === 'class' ? (['step', 'step', 'step', 'step', 'resumable', 'each'] as const) : (['step'] as const)
  const kind = random.pick(kinds)
  const itemCount = kind === 'each' ? random.between(0, 5) : 0
  return {
    kind,
    waits: random.between(0, 9) === 0,
    retry: random.between(0, 3) === 0 ? { attempts: random.between(1, 3), later: random.between(0, 1) === 0 } : null,
    policy: randomPolicy(random, climate),
    conditional: form === 'class' && kind === 'step' && random.between(0, 3) === 0,
    script: randomScript(random, kind, climate),
    items: Array.from({ length: itemCount }, () => randomScript(random, 'step', climate)),
    concurrency: kind === 'each' && random.between(0, 1) === 0 ? random.between(1, 3) : null,
  }
}

function randomPolicy(random: Random, { policies }: Climate): ThrowPolicy {
  return {
    action: random.between(0, 3) === 0 ? 'reattempt' : random.pick(policies),
    limit: random.between(1, 2),
    then: random.pick(policies),
  }
}

function randomScript(random: Random, kind: SimulatedNode['kind'], { trouble, calm }: Climate): Act[] {
  if (random.between(1, 100) > trouble) return []
  if (random.between(1, calm) === 1) return [random.pick(['cancel', 'finish', 'pause'] as const)]
  const acts: readonly Act[] = ['throw', 'throw', 'throw', 'skip', 'reattempt', 'reattempt later']
  const own: readonly Act[] = kind === 'resumable' ? ['suspend', 'suspend', ...acts] : acts
  return Array.from({ length: random.between(1, 4) }, () => random.pick(own))
}

/** Neighbours become a fan-out: they depend on what the first of them depends on. */
function withFanOuts(random: Random, nodes: readonly SimulatedNode[]): SimulatedNode[] {
  const result: SimulatedNode[] = []
  while (result.length < nodes.length) {
    const first = nodes[result.length]
    if (first === undefined) break
    const wide = random.between(0, 4) === 0 ? random.between(2, 5) : 1
    for (const node of nodes.slice(result.length, result.length + wide)) {
      const shared = { ...first, name: node.name, script: node.script }
      result.push(wide === 1 ? node : { ...shared, fanOut: nodes.indexOf(first) })
    }
  }
  return result
}
