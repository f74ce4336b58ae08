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
  /** Dead letters, the newest last: only that one can be open. */
  letters: readonly ModelLetter[]
}

export interface ModelLetter {
  readonly attempt: number
  readonly reason: 'policy' | 'retries_exhausted' | 'crash_limit'
  readonly state: 'open' | 'requeued' | 'discarded' | 'resolved'
}

/** About the whole workflow, about a node, or about the newest dead letter of a node. */
export type RequestKind = 'pause' | 'resume' | 'cancel' | 'skip' | 'resolve' | 'reattempt' | LetterRequest

export type LetterRequest = 'requeue' | 'discard' | 'discard and skip'

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
  state: 'ready' | 'paused' | 'dlq' | 'rolling_back' | 'finished' | 'canceled' = 'ready'
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

  /** Nothing new starts: what falls due is kept until the workflow goes on. */
  get isHeld(): boolean {
    return this.state === 'paused' || this.state === 'dlq'
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
        for (const node of this.running()) this.#endStopped(node, null)
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
    if (this.#isStopping()) this.#endStopped(node, act)
    else this.#act(node, act)
    this.#comeToRest()
  }

  /** It is being ended, or will be as soon as it is let go: what runs is waited for, and nothing comes of it. */
  #isStopping(): boolean {
    return this.state === 'rolling_back' || this.finishing || this.cause === 'finishing'
  }

  /** What completed all the same is recorded so, the rest was stopped. */
  #endStopped(node: ModelNode, act: Act | null): void {
    const completed = act === 'finish' || (act === 'succeed' && (node.spec.kind !== 'each' || node.each !== null))
    if (completed) this.#end(node, 'completed', this.finishing ? 'superseded' : 'success')
    else if (this.state === 'rolling_back') this.#end(node, 'skipped', 'stopped')
    else this.#end(node, 'canceled', 'superseded')
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
    } else if (action === 'dlq') {
      this.#giveUp(node, failures > 1 ? 'retries_exhausted' : 'policy')
    } else {
      this.#end(node, 'failed', action === 'cancel' ? 'canceled_by_exception' : 'paused_by_exception')
      if (action === 'cancel') this.#stop()
    }
  }

  /** Everything stands still at once, until somebody handles the letter. The next attempt is there, and held too. */
  #giveUp(node: ModelNode, reason: ModelLetter['reason']): void {
    this.#end(node, 'failed', 'dead_lettered')
    node.letters = [...node.letters, { attempt: node.attempt, reason, state: 'open' }]
    // Who has paused it is remembered.
    if (this.state !== 'dlq') this.#hold('dlq', this.cause)
    Object.assign(node, { state: 'paused', heldFrom: 'scheduled', failures: 0, crashes: 0 })
    node.attempt++
  }

  /** A plain step gets another attempt later; a resumable one is held where it is. */
  #pausedBy(node: ModelNode): void {
    if (node.spec.kind === 'resumable') {
      Object.assign(node, { state: 'paused', heldFrom: 'suspended', owner: null, crashes: 0, later: false })
    } else this.#end(node, 'canceled', 'canceled_by_flow_control')
    if (this.state === 'ready') this.#pause('flow_control')
  }

  #lost(node: ModelNode): void {
    // Only one that was taken over before writes down that it begins.
    const crashes = node.crashes + 1
    if (this.#isStopping()) this.#endStopped(node, null)
    else if (crashes === crashLimit) this.#giveUp(node, 'crash_limit')
    else {
      this.#end(node, 'failed', 'recovered')
      this.#again(node, { failures: node.failures, crashes, later: false })
    }
    this.#comeToRest()
  }

  #released(node: ModelNode): void {
    if (this.#isStopping()) this.#endStopped(node, null)
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
        // A person holds it from now on, whatever has paused it.
        if (this.cause !== 'finishing') this.cause = 'request'
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
      default:
        return this.#handleLetter(kind, name)
    }
  }

  #isOpen(): boolean {
    return (this.state === 'ready' || this.isHeld) && !this.finishing
  }

  #handleLetter(kind: LetterRequest, name: string | null): boolean {
    const node = this.nodes.get(name ?? '')
    if (!this.#isOpen() || node === undefined || !hasLetter(node)) return false
    if (kind === 'discard and skip') return this.#settle(name, 'skipped', 'skipped_by_flow_control')
    this.#closeLetter(node, kind === 'requeue' ? 'requeued' : 'discarded')
    if (kind === 'requeue') this.#goOnFromLetter()
    else this.#stop()
    this.#comeToRest()
    return true
  }

  #closeLetter(node: ModelNode, state: ModelLetter['state']): void {
    node.letters = node.letters.map(letter => (letter.state === 'open' ? { ...letter, state } : letter))
  }

  /** Everything that was held goes on, but for what waits for a letter of its own. What a person has paused stays so. */
  #goOnFromLetter(): void {
    const { cause } = this
    if (this.state === 'dlq' && cause !== null) this.#become('paused', cause)
    else if (this.state === 'dlq') this.#goOn()
    else if (this.state === 'ready') this.#letGo()
  }

  /** Where a step has declared it finished meanwhile, that happens now. */
  #goOn(): void {
    const declared = this.cause === 'finishing'
    this.#become('ready')
    if (declared) this.#finish()
    else this.#letGo()
  }

  #settle(name: string | null, state: 'skipped' | 'completed', outcome: string): boolean {
    const node = this.nodes.get(name ?? '')
    if (!this.#isOpen() || node === undefined) return false
    const hadFailed = this.#hasFailed(node)
    if (node.state === 'in_progress' || (!hadFailed && !isActive(node))) return false
    const items = this.#itemsOf(node).filter(item => isActive(item) || this.#hasFailed(item))
    if (items.some(item => item.state === 'in_progress')) return false
    const handles = [node, ...items].some(hasLetter)
    for (const item of items) this.#settleOne(item, 'skipped', 'skipped_by_flow_control')
    this.#settleOne(node, state, outcome)
    if (handles) this.#goOnFromLetter()
    this.#goOnIfFree()
    this.#comeToRest()
    if (this.isHeld && !this.all().some(isActive) && !this.#anyFailed()) this.#become('finished')
    return true
  }

  /** An active row ends; a failed node gets one more attempt, which is over at once. */
  #settleOne(node: ModelNode, state: 'skipped' | 'completed', outcome: string): void {
    if (!isActive(node)) node.attempt++
    this.#end(node, state, outcome)
    this.#closeLetter(node, state === 'skipped' ? 'discarded' : 'resolved')
  }

  #reattempt(name: string | null): boolean {
    const node = this.nodes.get(name ?? '')
    if (node !== undefined && hasLetter(node)) return this.#handleLetter('requeue', name)
    if (!this.#isOpen() || node === undefined || !this.#hasFailed(node)) return false
    this.#tryAgain(node)
    this.#goOnIfFree()
    this.#comeToRest()
    return true
  }

  /** What an exception or a step has paused goes on once nothing is left of that: what has failed, or holds itself. */
  #goOnIfFree(): void {
    if (this.state !== 'paused' || this.#anyFailed()) return
    const heldMidway = this.all().some(node => node.heldFrom === 'suspended')
    if (this.cause === 'exception' || (this.cause === 'flow_control' && !heldMidway)) this.#goOn()
  }

  #resume(): void {
    this.#goOn()
    if (!this.finishing) {
      for (const node of this.all()) {
        if (this.#hasFailed(node)) this.#tryAgain(node)
      }
    }
    this.#comeToRest()
  }

  #letGo(): void {
    for (const node of this.all()) {
      if (node.state !== 'paused' || hasLetter(node)) continue
      node.state = node.heldFrom ?? 'scheduled'
      node.heldFrom = null
    }
  }

  #pause(cause: 'request' | 'flow_control' | 'exception'): void {
    this.#hold('paused', cause)
  }

  #hold(state: 'paused' | 'dlq', cause: Model['cause'] = null): void {
    this.#become(state, cause)
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
      this.#closeLetter(node, 'discarded')
    }
    this.#become('rolling_back')
  }

  /** The rest is left out, once what runs has ended. In a workflow that is held this has to wait. */
  #finish(): void {
    if (this.isHeld) {
      this.cause = 'finishing'
      return
    }
    for (const node of this.all()) {
      if (!isActive(node) || node.state === 'in_progress') continue
      this.#end(node, 'canceled', 'superseded')
      this.#closeLetter(node, 'discarded')
    }
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
      ...{ failures: 0, crashes: 0, owner: null, acted: 0, ended: [], letters: [] },
    }
    this.nodes.set(name, node)
    return node
  }

  #again(node: ModelNode, next: { failures: number; crashes: number; later: boolean }): void {
    Object.assign(node, next)
    node.attempt++
    this.#enter(node, 'scheduled')
  }

  /** Somebody wants it to be tried again. An item has left its place to others, and stands in line for one. */
  #tryAgain(node: ModelNode): void {
    this.#again(node, { failures: 0, crashes: 0, later: false })
    if (node.each !== null) Object.assign(node, { state: 'waiting', heldFrom: null })
  }

  #enter(node: ModelNode, state: 'scheduled' | 'suspended'): void {
    const held = this.isHeld
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
    // Once a step has declared it finished, nothing new is due, no place goes to the next, and what waits for items ends with the workflow.
    const isDeclared = this.cause === 'finishing'
    while (!isDeclared && (this.#endJoined() || this.#scheduleDue()));
    for (const node of this.all()) {
      if (!isDeclared && node.state === 'waiting' && node.each === null) this.#fillPlaces(node)
    }
    if (this.state !== 'ready') return
    if (this.all().every(isSatisfied)) this.#become('finished')
    else if (this.all().some(goesOn)) return
    else if (this.all().some(hasLetter)) this.#hold('dlq')
    else if (this.#anyFailed()) this.#pause('exception')
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

export function hasLetter({ letters }: ModelNode): boolean {
  return letters.at(-1)?.state === 'open'
}

export function isSatisfied(node: ModelNode): boolean {
  return node.state === 'completed' || node.state === 'skipped'
}

function goesOn(node: ModelNode): boolean {
  return node.state === 'scheduled' || node.state === 'in_progress' || node.state === 'suspended'
}
