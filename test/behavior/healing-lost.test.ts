/** Steps that a deploy takes away or renames: what becomes of workflows under way, and that `check` said so before. */
import { expect, it } from 'vitest'
import { type Child, type Geneva, Workflow, type WorkflowHandle } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { Deploys, expectFinished } from '../support/deploys.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { Gates, waitFor } from '../support/wait-for.ts'

forEachDatabase('a deploy that takes away a step', database => {
  const under = useGeneva(database, { workflows: [] })

  it('that was not reached drops it, and the record names it', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b', d: 'c' }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', d: 'b' }))
    expect(what).toBe('The graph has changed: removed c; rewired d. Nothing happens to it now.')
    expect((await wf.events()).find(event => event.type === 'workflow.healed')?.reason).toBe('removed c; rewired d')
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'b', 'd'])
    await expectFinished(wf)
  })

  it('that has completed keeps its history and goes on', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', c: 'a' }))
    expect(what).toBe('The graph has changed: removed b; rewired c. Nothing happens to it now.')
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'b', 'c'])
    expect((await wf.history()).map(row => row.step)).toEqual(['a', 'b', 'c'])
    await expectFinished(wf)
  })

  /** It stands there, or the newest code fails there. */
  async function expectMissing(wf: WorkflowHandle, step: string): Promise<void> {
    expect((await wf.refresh()).state).toBe('paused')
    expect((await wf.history()).findLast(row => row.step === step)).toMatchObject({
      state: 'failed',
      outcome: 'paused_by_exception',
      error: { className: 'StepMissingError' },
    })
  }

  async function skipAndEnd(deploys: Deploys, fresh: Geneva, wf: WorkflowHandle): Promise<void> {
    await fresh.skip(wf.id, 'b')
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'c'])
    await expectFinished(wf)
  }

  const orphaned = 'It stands at b, which the code does not have. It will fail there and pause.'

  it('where it stands fails there and pauses, and goes on when that is skipped', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const V2 = deploys.version({ a: '', c: 'a' })
    expect(await deploys.check(V2)).toEqual({ verdict: 'orphaned', what: orphaned })
    const fresh = deploys.deploy(V2)
    await deploys.pass(fresh, 1)
    await expectMissing(wf, 'b')
    await skipAndEnd(deploys, fresh, wf)
  })

  it('where it stands can be skipped before it fails', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const fresh = deploys.deploy(deploys.version({ a: '', c: 'a' }))
    await skipAndEnd(deploys, fresh, wf)
  })

  it('of one branch lets the others go on before it pauses', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', p: 'a', q: 'p', c: 'b q' }), 1)
    const V2 = deploys.version({ a: '', p: 'a', q: 'p', c: 'q' })
    expect(await deploys.check(V2)).toEqual({ verdict: 'orphaned', what: orphaned })
    const fresh = deploys.deploy(V2)
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'p'])
    await deploys.pass(fresh, 2)
    await expectMissing(wf, 'b')
    await fresh.skip(wf.id, 'b')
    await deploys.pass(fresh, 3)
    expect(deploys.ran).toEqual(['a', 'p', 'q', 'c'])
    await expectFinished(wf)
  })

  it('that old code is running lets it end, and goes on by the new steps', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await deploys.hold(old, 'b')
    const V2 = deploys.version({ a: '', c: 'a', d: 'c' })
    expect(await deploys.check(V2)).toMatchObject({ verdict: 'heals', what: expect.stringContaining('still runs') })
    const fresh = deploys.deploy(V2)
    await fresh.migrate()
    deploys.gates.open('b')
    await old.close()
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'b', 'c', 'd'])
    await expectFinished(wf)
  })

  it('that has failed says so, and goes on when it is skipped', async () => {
    const deploys = new Deploys(under)
    deploys.failing.add('b')
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
    const V2 = deploys.version({ a: '', c: 'a' })
    expect(await deploys.check(V2)).toEqual({ verdict: 'orphaned', what: orphaned })
    const fresh = deploys.deploy(V2)
    await fresh.resume(wf.id)
    await deploys.pass(fresh, 1)
    await expectMissing(wf, 'b')
    await skipAndEnd(deploys, fresh, wf)
  })

  it('and adds several guesses only at what stands in its place, and says that they are new', async () => {
    const deploys = new Deploys(under)
    await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const say = (fresh: string, how: string) =>
      `It stands at b, which the code does not have, while ${fresh} are new. If it was renamed, say so${how}. Without that it fails there and pauses.`
    expect(await deploys.check(deploys.version({ x: '', a: 'x', bb: 'a', c: 'bb', d: 'c' }))).toEqual({
      verdict: 'needs_map',
      what: say('x, bb, d', ": `this.renamed({ b: 'bb' })`"),
    })
    expect(await deploys.check(deploys.version({ x: '', a: 'x', c: 'a', d: 'c' }))).toEqual({
      verdict: 'needs_map',
      what: say('x, d', ' with `this.renamed`'),
    })
  })

  it('and adds another one asks whether it was renamed', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const V2 = deploys.version({ a: '', other: 'a', c: 'other' })
    expect(await deploys.check(V2)).toEqual({
      verdict: 'needs_map',
      what: "It stands at b, which the code does not have, while other is new. If it was renamed, say so: `this.renamed({ b: 'other' })`. Without that it fails there and pauses.",
    })
    await deploys.pass(deploys.deploy(V2), 1)
    await expectMissing(wf, 'b')
    // The map may come later, with the same steps.
    const V3 = deploys.version({ a: '', other: 'a', c: 'other' }, { renamed: { b: 'other' } })
    const fresh = deploys.deploy(V3)
    await fresh.resume(wf.id)
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'other', 'c'])
    await expectFinished(wf)
  })

  it('and is rolled back leaves alone what the newer code has put in its way, and says so', async () => {
    const deploys = new Deploys(under)
    const V1 = deploys.version({ a: '', b: 'a', c: 'b' })
    const { old, wf } = await deploys.start(V1, 1)
    const { fresh } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', d: 'b' }))
    expect(await deploys.check(V1)).toEqual({
      verdict: 'orphaned',
      what: 'It goes by newer code. What that puts in its way waits until it is back.',
    })
    await deploys.pass(old, 3)
    expect(deploys.ran).toEqual(['a', 'b'])
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'd', state: 'scheduled' }])
    await deploys.pass(fresh, 1)
    await expectFinished(wf)
  })
})

forEachDatabase('a deploy that renames a step', database => {
  const under = useGeneva(database, { workflows: [] })
  const renamed = { renamed: { b: 'bee' } }

  it('that waits goes on under the new name', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', bee: 'a', c: 'bee' }, renamed))
    expect(what).toBe('The graph has changed: renamed bee (was b). bee goes on under its new name.')
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'bee', 'c'])
    await expectFinished(wf)
  })

  it('that is held goes on under the new name when the workflow is resumed', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await wf.pause()
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', bee: 'a', c: 'bee' }, renamed))
    expect(what).toBe('The graph has changed: renamed bee (was b). bee goes on under its new name.')
    expect(await wf.currentExecutions()).toMatchObject([{ step: 'bee', state: 'paused' }])
    await fresh.resume(wf.id)
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'bee', 'c'])
    await expectFinished(wf)
  })

  it('that old code is running takes its end under the old name', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await deploys.hold(old, 'b')
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', bee: 'a', c: 'bee' }, renamed))
    expect(what).toBe('The graph has changed: renamed bee (was b). Nothing happens to it now.')
    deploys.gates.open('b')
    await old.close()
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'b', 'c'])
    expect(await (await fresh.find(wf.id))?.output('bee')).toBe('b done')
    await expectFinished(wf)
  })

  it('that old code is running when its worker dies goes on under the new name', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await deploys.hold(old, 'b')
    const { fresh } = await deploys.heal(wf, deploys.version({ a: '', bee: 'a', c: 'bee' }, renamed))
    const store = await fresh.openedStore()
    const [row] = await store.activeExecutions(wf.id)
    await store.retireWorker(row?.owner ?? '')
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'bee', 'c'])
    deploys.gates.open('b')
    await expectFinished(wf)
  })

  it('that has failed makes the next attempt under the new name', async () => {
    const deploys = new Deploys(under)
    deploys.failing.add('b')
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
    const V2 = deploys.version({ a: '', bee: 'a', c: 'bee' }, renamed)
    expect(await deploys.check(V2)).toEqual({
      verdict: 'heals',
      what: 'The graph has changed: renamed bee (was b). Nothing happens to it now.',
    })
    const fresh = deploys.deploy(V2)
    await fresh.reattempt(wf.id, 'bee')
    await deploys.pass(fresh, 2)
    expect((await wf.history()).map(row => [row.step, row.attempt])).toEqual([
      ['a', 1],
      ['b', 1],
      ['bee', 2],
      ['c', 1],
    ])
    await expectFinished(wf)
  })

  it('that has failed can be skipped by either name', async () => {
    for (const name of ['b', 'bee']) {
      const deploys = new Deploys(under)
      deploys.failing.add('b')
      const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
      const fresh = deploys.deploy(deploys.version({ a: '', bee: 'a', c: 'bee' }, renamed))
      await fresh.skip(wf.id, name)
      await deploys.pass(fresh, 1)
      expect(deploys.ran).toEqual(['a', 'c'])
      await expectFinished(wf)
    }
  })

  it('that has completed keeps its output, to be read by the new name', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', bee: 'a', c: 'bee', d: 'bee' }, renamed))
    expect(what).toBe('The graph has changed: added d; renamed bee (was b). d is scheduled.')
    await deploys.pass(fresh, 1)
    expect(await (await fresh.find(wf.id))?.output('bee')).toBe('b done')
    expect((await wf.nodesWithState()).map(node => [node.name, node.state])).toEqual([
      ['a', 'completed'],
      ['bee', 'completed'],
      ['c', 'completed'],
      ['d', 'completed'],
    ])
    await expectFinished(wf)
  })

  it('that waits for a child is woken all the same', async () => {
    const gates = new Gates()
    class Invoice extends Workflow {
      static {
        this.inline('render', wf => gates.stop('render', wf.signal))
      }
    }
    class First extends Workflow {
      static {
        this.named('Billing')
        this.child('invoice', { workflow: Invoice, start: () => ({}) })
        this.inline('end', () => 'ended')
      }
      async invoice(_: Child<Invoice>) {}
    }
    class Second extends Workflow {
      static {
        this.named('Billing')
        this.renamed({ invoice: 'bill' })
        this.child('bill', { workflow: Invoice, start: () => ({}) })
        this.inline('end', () => 'ended')
        this.inline('more', () => 'more')
      }
      async bill(child: Child<Invoice>): Promise<string> {
        return `billed ${typeof child.id}`
      }
    }
    const old = under.another({ workflows: [First, Invoice] })
    const { id } = await old.start(First)
    const worker = await old.startWorker(quickly)
    await gates.arrived('render')
    const fresh = under.another({ workflows: [Second, Invoice] })
    expect((await fresh.check()).findings.find(finding => finding.type === 'Billing')).toMatchObject({
      verdict: 'heals',
      what: 'The graph has changed: added more; renamed bill (was invoice). bill goes on under its new name.',
    })
    await fresh.startWorker(quickly)
    const wf = await fresh.find(Second, id)
    if (wf === null) throw new Error('It is gone.')
    await waitFor(async () => (await wf.events()).some(event => event.type === 'workflow.healed'))
    gates.open('render')
    await worker.stop()
    expect(await wf.waitUntilFinished({ timeout: '10s' })).toBe('more')
    expect(await wf.output('bill')).toBe('billed string')
    await expectFinished(wf)
  })

  it('of a class that has another name too is checked by the versions of each name', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a' }), 1)
    class Renamed extends Workflow {
      static {
        this.named(`${wf.type} now`, wf.type)
        this.renamed({ b: 'bee' } as never)
        this.inline('a', () => {})
        this.inline('bee', () => {})
      }
    }
    // Versions of the present name must not be taken for those of the former one.
    const other = deploys.version({ x: '' }, { type: `${wf.type} now` })
    await deploys.deploy(other).migrate()
    expect(await deploys.check(Renamed as never)).toEqual({
      verdict: 'heals',
      what: 'The graph has changed: renamed bee (was b). bee goes on under its new name.',
    })
  })

  it('twice follows both names', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await deploys.heal(wf, deploys.version({ a: '', bee: 'a', c: 'bee' }, renamed))
    const again = deploys.version({ a: '', best: 'a', c: 'best' }, { renamed: { b: 'best', bee: 'best' } })
    const { fresh, what } = await deploys.heal(wf, again)
    expect(what).toBe('The graph has changed: renamed best (was bee). best goes on under its new name.')
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'best', 'c'])
    await expectFinished(wf)
  })
})
