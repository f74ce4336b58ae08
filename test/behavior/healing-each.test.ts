/** `each` nodes that a deploy changes while their items are under way, and that `check` said so before. */
import { expect, it } from 'vitest'
import { forEachDatabase } from '../support/databases.ts'
import { Deploys, expectFinished } from '../support/deploys.ts'
import { useGeneva } from '../support/use-geneva.ts'

const steps = { a: '', mail: 'a', sum: 'mail' }

forEachDatabase('a deploy that meets items under way', database => {
  const under = useGeneva(database, { workflows: [] })

  /** One item is done, one runs in old code, and one stands in line. */
  async function midway() {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version(steps, { each: { mail: 3 }, concurrency: 1 }), 1)
    await deploys.hold(old, 'mail/1')
    return { deploys, old, wf }
  }

  it('and adds a branch joins it with them', async () => {
    const { deploys, old, wf } = await midway()
    const V2 = { ...steps, p: 'a', sum: 'mail p' }
    const { fresh, what } = await deploys.heal(wf, deploys.version(V2, { each: { mail: 3 }, concurrency: 1 }))
    expect(what).toBe('The graph has changed: added p; rewired sum. p is scheduled.')
    deploys.gates.open('mail/1')
    await old.close()
    await deploys.pass(fresh, 2)
    expect(deploys.ran.toSorted()).toEqual(['a', 'mail/0', 'mail/1', 'mail/2', 'p', 'sum'])
    expect(deploys.ran.at(-1)).toBe('sum')
    await expectFinished(wf)
  })

  it('and renames their node goes on with them under the new name', async () => {
    const { deploys, old, wf } = await midway()
    const V2 = { a: '', post: 'a', sum: 'post' }
    const options = { each: { post: 3 }, concurrency: 1, renamed: { mail: 'post' } }
    const { fresh, what } = await deploys.heal(wf, deploys.version(V2, options))
    expect(what).toBe(
      'The graph has changed: renamed post (was mail). post goes on under its new name; post/2 goes on under its new name.',
    )
    deploys.gates.open('mail/1')
    await old.close()
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'mail/0', 'mail/1', 'post/2', 'sum'])
    expect(await (await fresh.find(wf.id))?.output('post')).toEqual(['mail/0 done', 'mail/1 done', 'post/2 done'])
    await expectFinished(wf)
  })

  it('and lifts their limit lets all go', async () => {
    const { deploys, old, wf } = await midway()
    const { fresh, what } = await deploys.heal(wf, deploys.version(steps, { each: { mail: 3 } }))
    expect(what).toBe('The graph has changed: changed mail. mail/2 need not wait for a place any more.')
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'mail/0', 'mail/2'])
    deploys.gates.open('mail/1')
    await old.close()
    await deploys.pass(fresh, 1)
    await expectFinished(wf)
  })
})

forEachDatabase('a deploy that meets a node before its items', database => {
  const under = useGeneva(database, { workflows: [] })

  it('and makes an each node of a step runs its items', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version(steps), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version(steps, { each: { mail: 2 } }))
    expect(what).toBe('The graph has changed: changed mail. Nothing happens to it now.')
    await deploys.pass(fresh, 2)
    expect(deploys.ran.toSorted()).toEqual(['a', 'mail/0', 'mail/1', 'sum'])
    await expectFinished(wf)
  })

  it('and makes a step of an each node runs it as that', async () => {
    const deploys = new Deploys(under)
    const { wf } = await deploys.start(deploys.version(steps, { each: { mail: 2 } }), 1)
    const { fresh, what } = await deploys.heal(wf, deploys.version(steps))
    expect(what).toBe('The graph has changed: changed mail. Nothing happens to it now.')
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'mail', 'sum'])
    await expectFinished(wf)
  })
})
