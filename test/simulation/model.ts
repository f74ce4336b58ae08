/**
 * What a workflow on a graph must do, as simply as it can be said: nodes with states, and after every event a look at all
 * of them. It has no counters, no batches, no database and no code of the engine; it is what the engine is compared with.
 */
import type { Act, SimulatedNode } from './random-graph.ts'

export type NodeState =
  /** Not reached: it has no execution. */
  | 'idle'
  | 'scheduled'
  | 'in_progress'
  | 'suspended'
  | 'waiting'
  | 'paused'
  | 'completed'
  | 'failed'
  | 'skipped'
  | 'canceled'

export interface ModelNode {
  readonly name: string
  readonly spec: SimulatedNode
  /** The `each` node that it is an item of. */
  readonly each: string | null
  readonly script: readonly Act[]
  state: NodeState
  attempt: number
  /** It is due only once the clock has moved. */
  later: boolean
  heldFrom: 'scheduled' | 'suspended' | null
  failures: number
  crashes: number
  /** The worker that runs it. */
  owner: string | null
  /** How many of the acts of its script are used up. */
  acted: number
  readonly ended: { readonly attempt: number; readonly state: NodeState; readonly outcome: string }[]
}

export type RequestKind = 'pause' | 'resume' | 'cancel' | 'skip' | 'resolve' | 'reattempt'

export type ModelEvent =
  | { readonly kind: 'began'; readonly node: string; readonly owner: string }
  | { readonly kind: 'reported'; readonly node: string; readonly act: Act }
  | { readonly kind: 'lost'; readonly node: string }
  | { readonly kind: 'released'; readonly node: string }
  | { readonly kind: 'request'; readonly request: RequestKind; readonly node: string | null }
  | { readonly kind: 'clock' }
  | { readonly kind: 'time to stop is over' }

const crashLimit = 3
const endedStates: readonly NodeState[] = ['completed', 'failed', 'skipped', 'canceled']

export class Model {
  readonly nodes = new Map<string, ModelNode>()
  state: 'ready' | 'paused' | 'rolling_back' | 'finished' | 'canceled' = 'ready'
  cause: 'request' | 'flow_control' | 'exception' | 'finishing' | null = null
  /** A step has declared the workflow finished, and others still run. */
  finishing = false

  constructor(nodes: readonly SimulatedNode[]) {
    for (const spec of nodes) this.#add(spec.name, spec, null, spec.script)
    this.#comeToRest()
  }

  clone(): Model {
    const copy = new Model([])
    for (const [name, node] of this.nodes) copy.nodes.set(name, { ...node, ended: [...node.ended] })
    return Object.assign(copy, { state: this.state, cause: this.cause, finishing: this.finishing })
  }

  get isOver(): boolean {
    return this.state === 'finished' || this.state === 'canceled'
  }

  all(): ModelNode[] {
    return [...this.nodes.values()]
  }

  node(name: string): ModelNode {
    const node = this.nodes.get(name)
    if (node === undefined) throw new Error(`The model has no node ${name}.`)
    return node
  }

  running(): ModelNode[] {
    return this.all().filter(node => node.state === 'in_progress')
  }

  /** Nodes that a worker may claim now. */
  claimable(): ModelNode[] {
    if (this.state !== 'ready') return []
    return this.all().filter(node => (node.state === 'scheduled' || node.state === 'suspended') && !node.later)
  }

  /** What the next call of the node will do. */
  nextAct(name: string): Act {
    const node = this.node(name)
    return node.script[node.acted] ?? 'succeed'
  }

  /** False for a request that must be refused; nothing has changed then. */
  apply(event: ModelEvent): boolean {
    switch (event.kind) {
      case 'began':
        this.#began(this.node(event.node), event.owner)
        return true
      case 'reported':
        this.#reported(this.node(event.node), event.act)
        return true
      case 'lost':
        this.#lost(this.node(event.node))
        return true
      case 'released':
        this.#released(this.node(event.node))
        return true
      case 'request':
        return this.#request(event.request, event.node)
      case 'clock':
        for (const node of this.all()) node.later = false
        return true
      case 'time to stop is over':
        for (const node of this.running()) this.#end(node, 'skipped', 'stopped')
        this.#comeToRest()
        return true
    }
  }

  #began(node: ModelNode, owner: string): void {
    if (!this.claimable().includes(node)) {
      throw new Error(
        `${node.name} began, but it is ${node.state}${node.later ? ', not due' : ''} in a workflow that is ${this.state}.`,
      )
    }
    node.state = 'in_progress'
    node.owner = owner
  }

  #reported(node: ModelNode, act: Act): void {
    node.acted++
    if (this.state === 'rolling_back' || this.finishing) this.#endStopped(node, act)
    else this.#act(node, act)
    this.#comeToRest()
  }

  /** The workflow is being ended: what completed all the same is recorded so, the rest was stopped. */
  #endStopped(node: ModelNode, act: Act): void {
    const completed = act === 'finish' || (act === 'succeed' && (node.spec.kind !== 'each' || node.each !== null))
    if (this.finishing) this.#end(node, completed ? 'completed' : 'canceled', 'superseded')
    else this.#end(node, completed ? 'completed' : 'skipped', completed ? 'success' : 'stopped')
  }

  #act(node: ModelNode, act: Act): void {
    switch (act) {
      case 'succeed':
        if (node.spec.kind === 'each' && node.each === null) this.#spread(node)
        else this.#end(node, 'completed', 'success')
        break
      case 'skip':
        this.#end(node, 'skipped', node.spec.conditional ? 'skipped_by_condition' : 'skipped_by_flow_control')
        break
      case 'throw':
        this.#threw(node)
        break
      case 'reattempt':
      case 'reattempt later':
        this.#end(node, 'completed', 'reattempted')
        this.#again(node, { failures: 0, crashes: 0, later: act === 'reattempt later' })
        break
      case 'suspend':
        node.owner = null
        node.crashes = 0
        this.#enter(node, 'suspended')
        break
      case 'cancel':
        this.#end(node, 'canceled', 'canceled_by_flow_control')
        this.#stop()
        break
      case 'finish':
        this.#end(node, 'completed', 'success')
        this.#finish()
        break
      case 'pause':
        this.#pausedBy(node)
        break
    }
  }

  #threw(node: ModelNode): void {
    const failures = node.failures + 1
    const { retry, policy } = node.spec
    if (retry !== null && failures < retry.attempts) {
      this.#end(node, 'failed', 'reattempted_by_exception')
      this.#again(node, { failures, crashes: 0, later: retry.later })
      return
    }
    // The limit counts what is left over by the retries.
    const beyond = failures - ((retry?.attempts ?? 1) - 1)
    const exhausted = policy.action === 'reattempt' && beyond > policy.limit
    const action = exhausted ? policy.then : policy.action
    if (action === 'reattempt') {
      this.#end(node, 'failed', 'reattempted_by_exception')
      this.#again(node, { failures, crashes: 0, later: false })
    } else if (action === 'skip') {
      this.#end(node, 'skipped', 'skipped_by_exception')
    } else {
      this.#end(node, 'failed', action === 'cancel' ? 'canceled_by_exception' : 'paused_by_exception')
      if (action === 'cancel') this.#stop()
    }
  }

  /** A plain step gets another attempt later; a resumable one is held where it is. */
  #pausedBy(node: ModelNode): void {
    if (node.spec.kind === 'resumable') {
      Object.assign(node, { state: 'paused', heldFrom: 'suspended', owner: null, crashes: 0, later: false })
    } else this.#end(node, 'canceled', 'canceled_by_flow_control')
    if (this.state === 'ready') this.#pause('flow_control')
  }

  #lost(node: ModelNode): void {
    if (this.state === 'rolling_back') this.#end(node, 'skipped', 'stopped')
    else if (this.finishing) this.#end(node, 'canceled', 'superseded')
    else {
      // Only one that was taken over before writes down that it begins.
      const crashes = node.crashes + 1
      this.#end(node, 'failed', 'recovered')
      if (crashes < crashLimit) this.#again(node, { failures: node.failures, crashes, later: false })
    }
    this.#comeToRest()
  }

  #released(node: ModelNode): void {
    if (this.state === 'rolling_back') this.#end(node, 'skipped', 'stopped')
    else if (this.finishing) this.#end(node, 'canceled', 'superseded')
    else {
      node.owner = null
      this.#enter(node, 'scheduled')
    }
    this.#comeToRest()
  }

  #request(kind: RequestKind, name: string | null): boolean {
    switch (kind) {
      case 'pause':
        if (this.state !== 'paused' && (this.state !== 'ready' || this.finishing)) return false
        if (this.state === 'ready') this.#pause('request')
        return true
      case 'resume':
        if (this.state !== 'paused') return false
        this.#resume()
        return true
      case 'cancel':
        if (this.isOver) return false
        if (this.state !== 'rolling_back') this.#stop()
        this.#comeToRest()
        return true
      case 'skip':
        return this.#settle(name, 'skipped', 'skipped_by_flow_control')
      case 'resolve':
        return this.#settle(name, 'completed', 'resolved')
      case 'reattempt':
        return this.#reattempt(name)
    }
  }

  #isOpen(): boolean {
    return (this.state === 'ready' || this.state === 'paused') && !this.finishing
  }

  #settle(name: string | null, state: 'skipped' | 'completed', outcome: string): boolean {
    const node = this.nodes.get(name ?? '')
    if (!this.#isOpen() || node === undefined) return false
    const hadFailed = this.#hasFailed(node)
    if (node.state === 'in_progress' || (!hadFailed && !isActive(node))) return false
    const items = this.#itemsOf(node).filter(item => isActive(item) || this.#hasFailed(item))
    if (items.some(item => item.state === 'in_progress')) return false
    const frees = [node, ...items].some(one => this.#hasFailed(one))
    for (const item of items) this.#settleOne(item, 'skipped', 'skipped_by_flow_control')
    this.#settleOne(node, state, outcome)
    if (frees) this.#goOnIfFree()
    this.#comeToRest()
    if (this.state === 'paused' && !this.all().some(isActive) && !this.#anyFailed()) this.#become('finished')
    return true
  }

  /** An active row ends; a failed node gets one more attempt, which is over at once. */
  #settleOne(node: ModelNode, state: 'skipped' | 'completed', outcome: string): void {
    if (!isActive(node)) node.attempt++
    this.#end(node, state, outcome)
  }

  #reattempt(name: string | null): boolean {
    const node = this.nodes.get(name ?? '')
    if (!this.#isOpen() || node === undefined || !this.#hasFailed(node)) return false
    this.#again(node, { failures: 0, crashes: 0, later: false })
    this.#goOnIfFree()
    this.#comeToRest()
    return true
  }

  /** What an exception or a step has paused goes on once nothing is left that has failed. */
  #goOnIfFree(): void {
    if (this.state !== 'paused' || this.#anyFailed()) return
    if (this.cause !== 'exception' && this.cause !== 'flow_control') return
    this.#become('ready')
    this.#letGo()
  }

  #resume(): void {
    if (this.cause === 'finishing') {
      this.#become('ready')
      this.#finish()
    } else {
      this.#become('ready')
      this.#letGo()
      for (const node of this.all()) {
        if (this.#hasFailed(node)) this.#again(node, { failures: 0, crashes: 0, later: false })
      }
    }
    this.#comeToRest()
  }

  #letGo(): void {
    for (const node of this.all()) {
      if (node.state !== 'paused') continue
      node.state = node.heldFrom ?? 'scheduled'
      node.heldFrom = null
    }
  }

  #pause(cause: 'request' | 'flow_control' | 'exception'): void {
    this.#become('paused', cause)
    for (const node of this.all()) {
      if (node.state === 'scheduled' || node.state === 'suspended') this.#enter(node, node.state)
    }
  }

  /** Idle rows end at once; the workflow has ended when nothing runs. */
  #stop(): void {
    this.finishing = false
    for (const node of this.all()) {
      if (!isActive(node) || node.state === 'in_progress') continue
      const begun = node.state === 'suspended' || node.state === 'waiting' || node.heldFrom === 'suspended'
      this.#end(node, begun ? 'skipped' : 'canceled', 'stopped')
    }
    this.#become('rolling_back')
  }

  /** The rest is left out, once what runs has ended. In a paused workflow that has to wait. */
  #finish(): void {
    if (this.state === 'paused') {
      this.cause = 'finishing'
      return
    }
    for (const node of this.all())
      if (isActive(node) && node.state !== 'in_progress') this.#end(node, 'canceled', 'superseded')
    this.finishing = true
  }

  /** One execution for each item; so many begin as may be under way at once. */
  #spread(node: ModelNode): void {
    if (node.spec.items.length === 0) {
      this.#end(node, 'completed', 'success')
      return
    }
    node.state = 'waiting'
    node.owner = null
    node.spec.items.forEach((script, index) => {
      const item = this.#add(`${node.name}/${index}`, node.spec, node.name, script)
      item.attempt = 1
      item.state = 'waiting'
    })
  }

  #add(name: string, spec: SimulatedNode, each: string | null, script: readonly Act[]): ModelNode {
    const node: ModelNode = {
      ...{ name, spec, each, script, state: 'idle', attempt: 0, later: false, heldFrom: null },
      ...{ failures: 0, crashes: 0, owner: null, acted: 0, ended: [] },
    }
    this.nodes.set(name, node)
    return node
  }

  #again(node: ModelNode, next: { failures: number; crashes: number; later: boolean }): void {
    Object.assign(node, next)
    node.attempt++
    // An item stands in line for a place; most often its own is still free.
    if (node.each !== null) node.state = 'waiting'
    else this.#enter(node, 'scheduled')
  }

  #enter(node: ModelNode, state: 'scheduled' | 'suspended'): void {
    const held = this.state === 'paused'
    node.state = held ? 'paused' : state
    node.heldFrom = held ? state : null
  }

  #end(node: ModelNode, state: NodeState, outcome: string): void {
    Object.assign(node, { state, owner: null, heldFrom: null, later: false })
    node.ended.push({ attempt: node.attempt, state, outcome })
  }

  #become(state: Model['state'], cause: Model['cause'] = null): void {
    this.state = state
    this.cause = cause
    if (this.isOver) this.finishing = false
  }

  /** Everything that follows from where the nodes stand, until nothing follows any more. */
  #comeToRest(): void {
    if (this.state === 'rolling_back' || this.finishing) {
      if (this.running().length === 0) this.#become(this.finishing ? 'finished' : 'canceled')
      return
    }
    if (this.isOver) return
    // Once a step has declared it finished, nothing new is due.
    while (this.#endJoined() || (this.cause !== 'finishing' && this.#scheduleDue()));
    for (const node of this.all()) if (node.state === 'waiting' && node.each === null) this.#fillPlaces(node)
    if (this.state !== 'ready') return
    if (this.all().every(isSatisfied)) this.#become('finished')
    else if (this.#anyFailed() && !this.all().some(goesOn)) this.#pause('exception')
  }

  #scheduleDue(): boolean {
    const due = this.all().filter(
      node => node.state === 'idle' && node.spec.parents.every(parent => isSatisfied(this.node(parent))),
    )
    for (const node of due) {
      node.attempt = 1
      node.later = node.spec.waits
      this.#enter(node, 'scheduled')
    }
    return due.length > 0
  }

  #endJoined(): boolean {
    const joined = this.all().filter(
      node => node.state === 'waiting' && node.each === null && this.#itemsOf(node).every(isSatisfied),
    )
    for (const node of joined) this.#end(node, 'completed', 'success')
    return joined.length > 0
  }

  #fillPlaces(each: ModelNode): void {
    const items = this.#itemsOf(each)
    const places = each.spec.concurrency ?? items.length
    for (const item of items) {
      const taken = items.filter(other => isActive(other) && other.state !== 'waiting').length
      if (item.state === 'waiting' && taken < places) this.#enter(item, 'scheduled')
    }
  }

  #itemsOf(each: ModelNode): ModelNode[] {
    return this.all().filter(node => node.each === each.name)
  }

  #anyFailed(): boolean {
    return this.all().some(node => this.#hasFailed(node))
  }

  /** It stands in the way: it has failed, or has given up by `this.pause()`. */
  #hasFailed(node: ModelNode): boolean {
    return (
      node.state === 'failed' ||
      (node.state === 'canceled' && node.ended.at(-1)?.outcome === 'canceled_by_flow_control')
    )
  }
}

export function isActive(node: ModelNode): boolean {
  return node.state !== 'idle' && !endedStates.includes(node.state)
}

export function isSatisfied(node: ModelNode): boolean {
  return node.state === 'completed' || node.state === 'skipped'
}

function goesOn(node: ModelNode): boolean {
  return node.state === 'scheduled' || node.state === 'in_progress' || node.state === 'suspended'
}
