/**
 * One workflow on a simulated graph, moved by hand: who claims, whose call ends next, who dies, who asks for what. After
 * each move the tables are held against the model and against what must always be true; what is not so throws `Wrong`.
 */
import { JobRegistry } from '../../src/definition/job-registry.ts'
import { Registry } from '../../src/definition/registry.ts'
import { Engine } from '../../src/engine/engine.ts'
import { Geneva, isGenevaError } from '../../src/index.ts'
import type { PlainAccess } from '../programs/harness/plain-access.ts'
import { AuditedGraph, auditEvents, auditTables } from './audit-tables.ts'
import { compareWithModel } from './compare-with-model.ts'
import { DrivenWorker, type Run } from './driven-worker.ts'
import { type Breakage, type FlakyStore, flakyStore } from './flaky-store.ts'
import { Model, type ModelEvent, type ModelNode, type RequestKind } from './model.ts'
import type { Act, SimulatedGraph } from './random-graph.ts'
import { buildSimulated, classOf, queueOf, stagedJob } from './stage.ts'
import { readEvents, readTables, type WorkflowTables } from './workflow-tables.ts'

/** Something that must not be. */
export class Wrong extends Error {
  override readonly name = 'Wrong'
}

/** Where a play takes place: a database, and a connection beside the engine's. */
export interface Place {
  readonly url: string
  readonly access: PlainAccess
}

export interface PlayRequest {
  readonly kind: RequestKind
  /** For those that are about a node. */
  readonly node: string | null
}

interface Parts {
  readonly geneva: Geneva
  readonly flaky: FlakyStore
  readonly engine: Engine
  readonly workflowId: string
  /** By what stands in the rows: graphs that are built at run time have ids. */
  readonly names: ReadonlyMap<string, string>
}

const patienceMs = 20_000
const clockStepMs = 2 * 3_600_000

export class Play {
  readonly graph: SimulatedGraph
  /** What was done, in order. */
  readonly log: string[] = []
  readonly workers: DrivenWorker[] = []
  model: Model
  readonly #access: PlainAccess
  readonly #audited: AuditedGraph
  readonly #parts: Parts
  #clockMs = 0
  /** A step has called `this.finish()`. */
  #declared = false

  private constructor(graph: SimulatedGraph, access: PlainAccess, parts: Parts) {
    this.graph = graph
    this.model = new Model(graph.nodes)
    this.#access = access
    this.#audited = new AuditedGraph(graph)
    this.#parts = parts
  }

  /** Starts the workflow, with two workers that do nothing yet. */
  static async begin({ url, access }: Place, graph: SimulatedGraph, type: string): Promise<Play> {
    const workflow = graph.form === 'class' ? classOf(graph, type) : null
    const classes = workflow === null ? [] : [workflow]
    const geneva = new Geneva({ database: url, workflows: classes, jobs: [stagedJob] })
    const flaky = flakyStore(await geneva.openedStore())
    const engine = new Engine(flaky.store, new Registry(classes), new JobRegistry([stagedJob]))
    await engine.register()
    const { id } =
      workflow === null ? await geneva.startGraph(buildSimulated(geneva, graph)) : await geneva.start(workflow, {})
    const { nodes } = await geneva.exportDag(id)
    const names = new Map(Object.entries(nodes).map(([key, node]) => [key, node.name]))
    const play = new Play(graph, access, { geneva, flaky, engine, workflowId: id, names })
    play.#checkEdges(nodes)
    for (let count = 0; count < 2; count++) await play.hire()
    await play.check()
    return play
  }

  /** The graph is what was meant. */
  #checkEdges(nodes: Readonly<Record<string, { name: string; depends_on: readonly string[] }>>): void {
    const sorted = (names: readonly string[] = []) => names.toSorted().join()
    for (const { name, depends_on } of Object.values(nodes)) {
      const found = sorted(depends_on.map(id => this.#nameOf(id)))
      const meant = sorted(this.#audited.parents.get(name))
      if (found !== meant) throw new Wrong(`${name} depends on ${found}, not on ${meant}.`)
    }
  }

  living(): DrivenWorker[] {
    return this.workers.filter(worker => !worker.isDead)
  }

  /** Runs whose report must be taken: their claim holds. */
  atGates(): Run[] {
    return this.#standing().filter(run => this.#holds(run))
  }

  /** Runs whose claim is lost, and who do not know it yet. */
  late(): Run[] {
    return this.#standing().filter(run => !this.#holds(run))
  }

  /** Nodes whose worker is dead. */
  lost(): ModelNode[] {
    const dead = new Set(this.workers.filter(worker => worker.isDead).map(worker => worker.id))
    return this.model.running().filter(node => dead.has(node.owner ?? ''))
  }

  #standing(): Run[] {
    return this.workers.flatMap(({ runs }) => runs.filter(run => run.call !== null).toSorted(byNode))
  }

  #holds({ call, worker }: Run): boolean {
    const node = call === null ? undefined : this.model.nodes.get(call.node)
    return node?.state === 'in_progress' && node.owner === worker.id && node.attempt === call?.attempt
  }

  async hire(): Promise<void> {
    const worker = new DrivenWorker(`worker ${this.workers.length + 1}`, this.#parts.engine)
    this.workers.push(worker)
    await worker.begin()
  }

  async claim(worker: DrivenWorker, queue: string): Promise<void> {
    const runs = (await patiently(worker.claim(queue, this.#parts.workflowId))).toSorted(byNode)
    const names = runs.map(run => run.call?.node ?? '?')
    this.#note(`${worker.name} claims ${queue}: ${names.join(', ') || 'nothing'}`)
    const due = this.model.claimable().filter(node => queueOf(node.spec) === queue)
    // Those that have lost two workers are claimed one by one.
    const missed = due.filter(node => !names.includes(node.name) && node.crashes < 2)
    if (missed.length > 0) throw new Wrong(`${missed.map(node => node.name).join()} was due and not claimed.`)
    for (const run of runs) this.#began(run)
    await this.check()
  }

  #began({ call, worker }: Run): void {
    if (call === null) throw new Wrong(`${worker.name} claimed something, but its code was not called.`)
    this.#apply({ kind: 'began', node: call.node, owner: worker.id })
    const { attempt } = this.model.node(call.node)
    if (attempt !== call.attempt) throw new Wrong(`${call.node} runs as attempt ${call.attempt}, not ${attempt}.`)
  }

  /** The call ends as its script says. */
  async report(run: Run, how: { readonly runOn?: boolean; readonly breaks?: Breakage | null } = {}): Promise<void> {
    const event = this.#reportOf(run)
    const { worker } = run
    const { runOn = false, breaks = null } = how
    worker.mayRunOn = runOn
    if (breaks !== null) this.#parts.flaky.breakOnce(breaks)
    await arrive([run], () => run.open(event.act))
    this.#parts.flaky.mend()
    worker.mayRunOn = false
    const also = await worker.takeBegun()
    const broken = breaks === null ? '' : ` over a connection that breaks ${breaks} the change`
    const following = [run, ...also].flatMap(({ call }) => call?.node ?? [])
    const next = following.length === 0 ? '' : `, and goes on with ${following.join(', ')}`
    this.#note(`${worker.name} reports ${said(event)}${broken}${next}`)
    this.#apply(event)
    for (const begun of [run, ...also]) if (begun.call !== null) this.#began(begun)
    await this.check()
  }

  #reportOf({ call }: Run) {
    const node = call?.node ?? ''
    const act = this.model.nextAct(node)
    this.#declared ||= act === 'finish'
    return { kind: 'reported', node, act } as const
  }

  /** Several at the same instant. */
  async reportTogether(runs: readonly Run[]): Promise<void> {
    const events = runs.map(run => this.#reportOf(run))
    await arrive(runs, () => runs.forEach((run, index) => run.open(events[index]?.act ?? 'succeed')))
    const who = [...new Set(runs.map(run => run.worker.name))].join(' and ')
    await this.#findOrder(events, `at the same time ${who} report ${events.map(said).join(', ')}`)
  }

  async reportDuring(run: Run, request: PlayRequest): Promise<void> {
    const event = this.#reportOf(run)
    let granted = false
    const asked = this.#send(request).then(answer => {
      granted = answer
    })
    await arrive([run], () => run.open(event.act), asked)
    const what = `at the same time ${run.worker.name} reports ${said(event)} and somebody asks to ${asking(request)}`
    const answered = { kind: 'request', request: request.kind, node: request.node, granted } as const
    await this.#findOrder([event, answered], `${what}: ${granted ? 'granted' : 'refused'}`)
  }

  /** What has come of it must be what comes of one order or another. */
  async #findOrder(events: readonly (ModelEvent & { granted?: boolean })[], what: string): Promise<void> {
    const tables = await this.#read()
    for (const order of permutations(events)) {
      const model = this.model.clone()
      const fits = order.every(event => model.apply(event) === (event.granted ?? true))
      if (!fits || compareWithModel(model, tables).length > 0) continue
      this.model = model
      this.#note(`${what} (${order.map(event => ('act' in event ? event.node : 'the request')).join(', then ')})`)
      return this.check()
    }
    this.#note(what)
    const first = this.model.clone()
    for (const event of events) first.apply(event)
    throw new Wrong(['No order explains it. Compared with the first:', ...compareWithModel(first, tables)].join('\n'))
  }

  /** A report that must be refused. */
  async reportLate(run: Run, act: Act): Promise<void> {
    this.#note(`${run.worker.name}, whose claim is lost, reports ${run.call?.node}: ${act}`)
    await arrive([run], () => run.open(act))
    if (!run.isOver) throw new Wrong(`${run.worker.name} goes on with ${run.call?.node}, which is not its own.`)
    await this.check()
  }

  /** The worker falls silent; what it runs stays at its gates. */
  async die(worker: DrivenWorker, how: 'lapses' | 'retires'): Promise<void> {
    this.#note(`${worker.name} dies: it ${how}`)
    await worker.die(how)
    await this.hire()
    await this.check()
  }

  async shutDown(worker: DrivenWorker): Promise<void> {
    const held = this.model.running().filter(node => node.owner === worker.id)
    this.#note(`${worker.name} shuts down and gives back ${list(held)}`)
    await patiently(worker.shutDown())
    for (const node of held) this.#apply({ kind: 'released', node: node.name })
    await this.hire()
    await this.check()
  }

  /** Takes over what the dead have left, also two at once. */
  async recover(workers: readonly DrivenWorker[]): Promise<void> {
    const lost = this.lost()
    this.#note(`${workers.map(worker => worker.name).join(' and ')} take over ${list(lost)}`)
    await patiently(Promise.all(workers.map(worker => worker.recover())))
    for (const node of lost) this.#apply({ kind: 'lost', node: node.name })
    await this.check()
  }

  /** Everything that waits for its time falls due, timers of the engine too. */
  async moveClock(worker: DrivenWorker): Promise<void> {
    this.#clockMs += clockStepMs
    const store = await this.#parts.geneva.openedStore()
    store.setClockOffset(this.#clockMs)
    this.#apply({ kind: 'clock' })
    const fired = await patiently(worker.fireTimers(this.#parts.workflowId))
    this.#note(`the clock moves on${fired > 0 ? `, and ${worker.name} fires a timer` : ''}`)
    if (fired > 0 !== (this.model.state === 'rolling_back' || this.model.finishing))
      throw new Wrong(`${fired} timers fired.`)
    if (fired > 0) this.#apply({ kind: 'time to stop is over' })
    await this.check()
  }

  async ask(request: PlayRequest): Promise<void> {
    const before = await this.#events()
    const granted = await patiently(this.#send(request))
    this.#note(`somebody asks to ${asking(request)}: ${granted ? 'granted' : 'refused'}`)
    const right = this.#apply({ kind: 'request', request: request.kind, node: request.node })
    if (granted !== right) throw new Wrong(`It must be ${right ? 'granted' : 'refused'}.`)
    if (!granted && (await this.#events()).length !== before.length) throw new Wrong('Refused, but it has left events.')
    await this.check()
  }

  /** False when the state does not allow it. */
  async #send({ kind, node }: PlayRequest): Promise<boolean> {
    const { geneva, workflowId } = this.#parts
    try {
      if (kind === 'pause' || kind === 'resume' || kind === 'cancel') await geneva[kind](workflowId)
      else if (kind === 'skip' || kind === 'resolve' || kind === 'reattempt') await geneva[kind](workflowId, node ?? '')
      else if (kind === 'requeue') await geneva.requeue(await this.#letterOf(node))
      else await geneva.discard(await this.#letterOf(node), { then: kind === 'discard' ? 'cancel' : 'skip' })
      return true
    } catch (error) {
      if (isGenevaError(error, 'INVALID_STATE')) return false
      throw error
    }
  }

  /** The newest one; it may have been handled already. */
  async #letterOf(node: string | null): Promise<string> {
    const { letters } = await this.#read()
    return letters.findLast(letter => letter.node === node)?.id ?? ''
  }

  /** Whether all is as the model says, and as it must always be. */
  async check(): Promise<void> {
    const tables = await this.#read()
    const errors = this.workers.flatMap(worker => worker.errors.splice(0))
    const findings = [
      ...compareWithModel(this.model, tables),
      ...auditTables(this.#audited, tables, this.#declared),
      ...errors.map(error => `A worker says: ${(error as Error)?.stack ?? error}`),
      ...(this.log.length % 4 === 0 ? await this.#askDoctor() : []),
    ]
    if (findings.length > 0) throw new Wrong(findings.join('\n'))
  }

  /** What is stored is what the events lead to. */
  async #askDoctor(): Promise<string[]> {
    const { geneva, workflowId } = this.#parts
    const { findings } = await geneva.doctor({ workflow: workflowId })
    return findings.map(({ problem }) => `The doctor says: ${problem}`)
  }

  /** What can be told of the history only as a whole. */
  async checkHistory(): Promise<void> {
    const { geneva, workflowId } = this.#parts
    const flaw = await geneva.verifyHistory(workflowId)
    const findings = [
      ...auditEvents(this.#audited, await this.#read(), await this.#events()),
      ...(await this.#askDoctor()),
      ...(flaw ? [`${this.#nameOf(flaw.node)}#${flaw.attempt} does not fit: ${flaw.reason}`] : []),
    ]
    if (findings.length > 0) throw new Wrong(findings.join('\n'))
  }

  /** Lets go whoever still stands at a gate. What they report must be refused where the play is over. */
  async end(): Promise<void> {
    const { geneva } = this.#parts
    for (const run of this.#standing()) await arrive([run], () => run.open('succeed'))
    for (const worker of this.workers) await worker.end()
    await geneva.close()
  }

  #apply(event: ModelEvent): boolean {
    try {
      return this.model.apply(event)
    } catch (error) {
      throw new Wrong((error as Error).message)
    }
  }

  #note(line: string): void {
    this.log.push(`${this.log.length + 1}. ${line}`)
  }

  #nameOf(id: string): string {
    return this.#parts.names.get(id) ?? id
  }

  #read(): Promise<WorkflowTables> {
    return readTables(this.#access, this.#parts.workflowId, id => this.#nameOf(id))
  }

  #events() {
    return readEvents(this.#access, this.#parts.workflowId, id => this.#nameOf(id))
  }
}

/** Waits until every run stands at its next gate, or is over. */
async function arrive(
  runs: readonly Run[],
  open: () => void,
  besides: Promise<void> = Promise.resolve(),
): Promise<void> {
  open()
  await patiently(Promise.all([...runs.map(run => run.arrival()), besides]))
}

/** What is claimed at once comes in the order in which it fell due, which a replay may not meet to the millisecond. */
function byNode(a: Run, b: Run): number {
  const [one, other] = [a.call?.node ?? '', b.call?.node ?? '']
  return one === other ? 0 : one < other ? -1 : 1
}

async function patiently<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Wrong(`Nothing has come of it for ${patienceMs} ms.`)), patienceMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

function said(event: { readonly node: string; readonly act: string }): string {
  return `${event.node}: ${event.act}`
}

function asking({ kind, node }: PlayRequest): string {
  return node === null ? kind : `${kind} ${node}`
}

function list(nodes: readonly ModelNode[]): string {
  return nodes.map(node => node.name).join(', ') || 'nothing'
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map(rest => [item, ...rest]))
}
