/** Steps that a deploy adds or wires otherwise: what becomes of workflows under way, and that `check` said so before. */
import { expect, it } from 'vitest'
import { forEachDatabase } from '../support/databases.ts'
import { Deploys, expectFinished } from '../support/deploys.ts'
import { useGeneva } from '../support/use-geneva.ts'

forEachDatabase('a deploy', database => {
  const under = useGeneva(database, { workflows: [] })

  it('that adds a step at the end runs it there', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a' }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', c: 'b' }))
    expect(what).toBe('The graph has changed: added c. Nothing happens to it now.')
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'b', 'c'])
    await expectFinished(wf)
  })

  it('that adds a step before the point reached leaves it out', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', x: 'a', b: 'x', c: 'b' }))
    expect(what).toBe('The graph has changed: added x; rewired b. x is left out, because the workflow is past it.')
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'b', 'c'])
    expect((await wf.nodesWithState()).map(node => node.state)).toEqual([
      'completed',
      'not_taken',
      'completed',
      'completed',
    ])
    await expectFinished(wf)
  })

  it('that adds a step before one that is only scheduled runs the new one first', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a' }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', x: 'a', b: 'x' }))
    expect(what).toBe(
      'The graph has changed: added x; rewired b. x is scheduled; b goes back to waiting for what comes before it.',
    )
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'x', 'b'])
    await expectFinished(wf)
  })

  it('that adds a step before one that runs lets it end, and leaves the new one out', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await deploys.hold(old, 'b')
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', x: 'a', b: 'x', c: 'b' }))
    expect(what).toBe('The graph has changed: added x; rewired b. x is left out, because the workflow is past it.')
    deploys.gates.open('b')
    await old.close()
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'b', 'c'])
    await expectFinished(wf)
  })

  it('that adds a branch runs it beside what was there, and what joins them waits for both', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', p: 'a', q: 'p', c: 'b q' }))
    expect(what).toBe('The graph has changed: added p, q; rewired c. p is scheduled.')
    await deploys.pass(fresh, 3)
    expect(deploys.ran.slice(0, 3).toSorted()).toEqual(['a', 'b', 'p'])
    expect(deploys.ran.slice(3)).toEqual(['q', 'c'])
    await expectFinished(wf)
  })

  it('that adds an entry runs it, unless what depends on it has begun', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const { fresh, what } = await deploys.heal(
      wf,
      deploys.version({ early: '', a: 'early', late: '', b: 'a', c: 'b late' }),
    )
    expect(what).toBe(
      'The graph has changed: added early, late; rewired a, c. late is scheduled; early is left out, because the workflow is past it.',
    )
    await deploys.pass(fresh, 2)
    expect(deploys.ran.toSorted()).toEqual(['a', 'b', 'c', 'late'])
    expect(deploys.ran.at(-1)).toBe('c')
    await expectFinished(wf)
  })

  it('that takes away what a step waited for lets it go', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b', d: 'c' }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', c: 'a', d: 'b c' }))
    expect(what).toBe('The graph has changed: rewired c, d. c is scheduled.')
    await deploys.pass(fresh, 2)
    expect(deploys.ran.toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect(deploys.ran.at(-1)).toBe('d')
    await expectFinished(wf)
  })

  it('that puts branches into a row runs them one after the other', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'a', d: 'b c' }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', c: 'b', d: 'c' }))
    expect(what).toBe('The graph has changed: rewired c, d. c goes back to waiting for what comes before it.')
    await deploys.pass(fresh, 3)
    expect(deploys.ran).toEqual(['a', 'b', 'c', 'd'])
    await expectFinished(wf)
  })

  it('that puts branches into a row lets both go on that have begun', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'a', d: 'b c' }), 1)
    deploys.held.add('b')
    await deploys.hold(old, 'c')
    await deploys.gates.arrived('b')
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', c: 'b', d: 'c' }))
    expect(what).toBe('The graph has changed: rewired c, d. Nothing happens to it now.')
    deploys.gates.open('c')
    deploys.gates.open('b')
    await old.close()
    await deploys.pass(fresh, 1)
    expect(deploys.ran.toSorted()).toEqual(['a', 'b', 'c', 'd'])
    await expectFinished(wf)
  })

  it('that turns a chain into a graph, and another one that turns it back, lose nothing', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', p: 'a', c: 'b p' }))
    expect(what).toBe('The graph has changed: added p; rewired c. p is scheduled.')
    await deploys.hold(fresh, 'p')
    const back = await deploys.heal(wf, deploys.version({ a: '', b: 'a', p: 'b', c: 'p', d: 'c' }))
    expect(back.what).toBe('The graph has changed: added d; rewired p, c. Nothing happens to it now.')
    deploys.gates.open('p')
    await fresh.close()
    await deploys.pass(back.fresh, 3)
    expect(deploys.ran.toSorted()).toEqual(['a', 'b', 'c', 'd', 'p'])
    expect(deploys.ran.slice(-2)).toEqual(['c', 'd'])
    await expectFinished(wf)
  })

  it('meets a paused workflow: what is new is held like the rest', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 1)
    await wf.pause()
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', p: 'a', c: 'b p' }))
    expect(what).toBe('The graph has changed: added p; rewired c. p is held until it is resumed.')
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a'])
    await fresh.resume(wf.id)
    await deploys.pass(fresh, 2)
    expect(deploys.ran.slice(1, 3).toSorted()).toEqual(['b', 'p'])
    expect(deploys.ran[3]).toBe('c')
    await expectFinished(wf)
  })

  it('meets a workflow that an exception has paused: it goes on by the new steps when it is resumed', async () => {
    const deploys = new Deploys(under)
    deploys.failing.add('b')
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'b' }), 2)
    expect((await wf.refresh()).state).toBe('paused')
    deploys.failing.clear()
    const V2 = deploys.version({ a: '', p: 'a', b: 'a', c: 'b p' })
    expect(await deploys.check(V2)).toEqual({
      verdict: 'heals',
      what: 'The graph has changed: added p; rewired c. p is held until it is resumed.',
    })
    const fresh = deploys.deploy(V2)
    await fresh.resume(wf.id)
    await deploys.pass(fresh, 2)
    expect(deploys.ran.slice(0, 3).toSorted()).toEqual(['a', 'b', 'p'])
    expect(deploys.ran[3]).toBe('c')
    await expectFinished(wf)
  })

  it('that comes right after another one counts from where the workflow stands', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a' }), 1)
    await deploys.deploy(deploys.version({ a: '', x: 'a', b: 'x' })).migrate()
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', y: 'b' }))
    expect(what).toBe('The graph has changed: added y. Nothing happens to it now.')
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'b', 'y'])
    await expectFinished(wf)
  })

  it('that comes after another one has healed the workflow heals it again', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a' }), 1)
    await deploys.heal(wf, deploys.version({ a: '', x: 'a', b: 'x' }))
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', x: 'a', b: 'a', c: 'b x' }))
    expect(what).toBe('The graph has changed: added c; rewired b. b is scheduled.')
    await deploys.pass(fresh, 2)
    expect(deploys.ran.slice(1, 3).toSorted()).toEqual(['b', 'x'])
    expect(deploys.ran[3]).toBe('c')
    await expectFinished(wf)
  })

  it('that puts a step behind one that came too late leaves out both, and may end the workflow by that', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version({ a: '', b: 'a', c: 'a' }), 1)
    await old.skip(wf.id, 'b')
    const { what } = await deploys.heal(wf, deploys.version({ a: '', x: '', b: 'x a', c: 'x' }))
    expect(what).toBe(
      'The graph has changed: added x; rewired b, c. c goes back to waiting for what comes before it; x is left out, because the workflow is past it; c is left out, because the workflow is past it; it ends.',
    )
    expect(deploys.ran).toEqual(['a'])
    await expectFinished(wf)
  })

  it('that changes nothing leaves everything as it is', async () => {
    const deploys = new Deploys(under)
    await deploys.start(deploys.version({ a: '', b: 'a' }), 1)
    expect(await deploys.check(deploys.version({ a: '', b: 'a' }))).toEqual({
      verdict: 'unchanged',
      what: 'It goes on as it is.',
    })
  })

  it('leaves nothing out because of a step behind it that was not taken', async () => {
    const deploys = new Deploys(under)
    const untaken = { condition: 'c', steps: { n: 'q' } }
    const { wf } = await deploys.start(deploys.version({ a: '', b: 'a', q: 'b' }, { untaken }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version({ a: '', b: 'a', q: 'b', r: 'q' }, { untaken }))
    expect(what).toBe('The graph has changed: added r. Nothing happens to it now.')
    await deploys.pass(fresh, 3)
    expect(deploys.ran).toEqual(['a', 'b', 'q', 'r'])
    await expectFinished(wf)
  })
})
