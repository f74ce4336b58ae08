/**
 * Mistakes that graphs once made, each as the shortest play that shows it. Every move is held against the model of
 * `test/simulation`, so a play that comes to its end is the promise.
 */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { Geneva, Workflow } from '../../src/index.ts'
import { openAccess } from '../programs/harness/plain-access.ts'
import type { RequestKind } from '../simulation/model.ts'
import { type Place, Play } from '../simulation/play.ts'
import type { SimulatedNode } from '../simulation/random-graph.ts'
import { queueOf } from '../simulation/stage.ts'
import { stagedNode } from '../simulation/staged-node.ts'
import { forEachDatabase } from '../support/databases.ts'
import { quickly } from '../support/use-geneva.ts'

/** Moves by name, made by the worker that lives longest. */
class NamedPlay {
  readonly play: Play

  constructor(play: Play) {
    this.play = play
  }

  get state(): string {
    return this.play.model.state
  }

  stateOf(node: string): string {
    return this.play.model.node(node).state
  }

  async claim(...names: string[]): Promise<void> {
    for (const name of names) await this.play.claim(this.#worker, queueOf(this.play.model.node(name).spec))
  }

  async report(...names: string[]): Promise<void> {
    for (const name of names) await this.play.report(this.#run(name))
  }

  async run(...names: string[]): Promise<void> {
    for (const name of names) {
      await this.claim(name)
      await this.report(name)
    }
  }

  brokenReport(name: string, breaks: 'before' | 'after'): Promise<void> {
    return this.play.report(this.#run(name), { breaks })
  }

  ask(kind: RequestKind, node: string | null = null): Promise<void> {
    return this.play.ask({ kind, node })
  }

  moveClock(): Promise<void> {
    return this.play.moveClock(this.#worker)
  }

  get #worker() {
    const [worker] = this.play.living()
    if (worker === undefined) throw new Error('Nobody works here.')
    return worker
  }

  #run(name: string) {
    const run = this.play.atGates().find(one => one.call?.node === name)
    if (run === undefined) throw new Error(`${name} does not run.`)
    return run
  }
}

forEachDatabase('a graph', database => {
  let place: Place
  let count = 0
  const plays: Play[] = []

  beforeAll(async () => {
    const { url } = await database.isolated()
    place = { url, access: await openAccess(url) }
  })
  afterEach(async () => {
    for (const play of plays.splice(0)) await play.end()
  })
  afterAll(() => place.access.close())

  async function begin(...nodes: SimulatedNode[]): Promise<NamedPlay> {
    const play = await Play.begin(place, { form: 'class', nodes }, `Play ${++count}`)
    plays.push(play)
    return new NamedPlay(play)
  }

  const each = (name: string, items: SimulatedNode['items'], more: Partial<SimulatedNode> = {}) =>
    stagedNode(name, [], { kind: 'each', items, ...more })

  it('ends the items of an each node that is skipped, and goes on behind it', async () => {
    const play = await begin(each('a', [[], ['throw'], []], { concurrency: 2 }), stagedNode('b', ['a']))
    await play.run('a')
    await play.claim('a/0')
    await play.report('a/1')
    await play.ask('skip', 'a')
    expect(play.stateOf('a')).toBe('waiting')
    await play.report('a/0')
    await play.ask('skip', 'a')
    expect(['a', 'a/1', 'a/2'].map(name => play.stateOf(name))).toEqual(['skipped', 'skipped', 'skipped'])
    await play.run('b')
    expect(play.state).toBe('finished')
  })

  it('goes on when the each node whose items have paused it is resolved', async () => {
    const play = await begin(each('a', [['throw'], ['throw']]), stagedNode('b', ['a']))
    await play.run('a')
    await play.claim('a/0')
    await play.report('a/0', 'a/1')
    expect(play.state).toBe('paused')
    await play.ask('resolve', 'a')
    await play.run('b')
    expect(play.state).toBe('finished')
  })

  it('keeps what an each node was resolved with as its output', async () => {
    class Mailing extends Workflow {
      static {
        this.each('mail', { items: () => [1, 2] })
        this.step('sum')
      }
      async mail(_number: number): Promise<number> {
        throw new Error('no network')
      }
      async sum() {
        return this.output(this.mail)
      }
    }
    const geneva = new Geneva({ database: place.url, workflows: [Mailing], onError: () => {} })
    const wf = await geneva.start(Mailing)
    await geneva.runDue(quickly)
    await geneva.resolve(wf.id, 'mail', { output: [10, 20] })
    await geneva.runDue(quickly)
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toEqual([10, 20])
    await geneva.close()
  })

  it('lets no item go beyond the limit when one that waits, or has failed, is skipped', async () => {
    const play = await begin(each('a', [['throw'], [], [], [], []], { concurrency: 2 }))
    await play.run('a')
    await play.ask('skip', 'a/4')
    expect(play.stateOf('a/2')).toBe('waiting')
    await play.claim('a/0')
    await play.report('a/0')
    await play.ask('skip', 'a/0')
    expect(play.stateOf('a/3')).toBe('waiting')
  })

  it('lets an item that is reattempted stand in line when its place was given away', async () => {
    const play = await begin(each('a', [['throw'], ['throw'], [], []], { concurrency: 1 }))
    await play.run('a', 'a/0')
    await play.ask('reattempt', 'a/0')
    expect([play.stateOf('a/0'), play.stateOf('a/1')]).toEqual(['waiting', 'scheduled'])
    await play.run('a/1', 'a/0', 'a/2', 'a/3')
    expect(play.state).toBe('paused')
    await play.ask('resume')
    await play.run('a/1')
    expect(play.state).toBe('finished')
  })

  it('gives the place of an item that pauses the workflow to the next one', async () => {
    const play = await begin(each('a', [['pause'], []], { concurrency: 1 }))
    await play.run('a', 'a/0')
    expect(play.stateOf('a/1')).toBe('paused')
    await play.ask('skip', 'a/0')
    await play.run('a/1')
    expect(play.state).toBe('finished')
  })

  it('cancels items that stand in line at once, whatever they hold', async () => {
    const play = await begin(each('a', [[], []], { concurrency: 1 }))
    await play.run('a')
    await play.ask('cancel')
    expect(play.state).toBe('canceled')
  })

  it('can be canceled while a declared end waits for steps that run', async () => {
    const play = await begin(stagedNode('a', [], { script: ['finish'] }), stagedNode('b'))
    await play.claim('a', 'b')
    await play.report('a')
    await play.ask('cancel')
    expect(play.state).toBe('rolling_back')
    await play.report('b')
    expect(play.state).toBe('canceled')
  })

  it('does not forget an end that was declared in a pause when a step is skipped', async () => {
    const play = await begin(stagedNode('a', [], { script: ['finish'] }), stagedNode('b'), stagedNode('c'))
    await play.claim('a')
    await play.ask('pause')
    await play.report('a')
    await play.ask('skip', 'b')
    expect(play.state).toBe('paused')
    await play.ask('resume')
    expect(play.state).toBe('finished')
  })

  it('schedules nothing any more once its end was declared in a pause', async () => {
    const play = await begin(stagedNode('a', [], { script: ['finish'] }), stagedNode('b'), stagedNode('c', ['b']))
    await play.claim('a', 'b')
    await play.ask('pause')
    await play.report('a', 'b')
    expect(play.stateOf('c')).toBe('idle')
    await play.ask('resume')
    expect(play.state).toBe('finished')
  })

  it('stays paused by a resumable step when another step is skipped', async () => {
    const pauser = stagedNode('a', [], { kind: 'resumable', script: ['pause'] })
    const play = await begin(pauser, stagedNode('b'), stagedNode('c', ['b']))
    await play.run('a')
    await play.ask('skip', 'b')
    expect(play.state).toBe('paused')
    expect(play.stateOf('c')).toBe('paused')
  })

  it('leaves no counter behind when its time to stop is over', async () => {
    const play = await begin(stagedNode('a'), stagedNode('b'), stagedNode('c', ['a', 'b']))
    await play.run('a')
    await play.claim('b')
    await play.ask('cancel')
    await play.moveClock()
    expect(play.state).toBe('canceled')
  })

  it('counts a step once when its report has to be sent again', async () => {
    for (const breaks of ['before', 'after'] as const) {
      const play = await begin(stagedNode('a'), stagedNode('b'), stagedNode('c', ['a', 'b']))
      await play.run('a')
      await play.claim('b')
      await play.brokenReport('b', breaks)
      await play.run('c')
      expect(play.state).toBe('finished')
    }
  })

  it('takes the limit of a reattempt as failures beyond the retries', async () => {
    const policy = { action: 'reattempt', limit: 1, then: 'skip' } as const
    const retry = { attempts: 2, later: false }
    const play = await begin(stagedNode('a', [], { script: ['throw', 'throw', 'throw'], retry, policy }))
    await play.run('a', 'a', 'a')
    expect(play.state).toBe('finished')
  })
})
