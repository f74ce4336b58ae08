/** `each` nodes that a deploy changes while their items are under way, and that `check` said so before. */
import { expect, it } from 'vitest'
import { forEachDatabase } from '../support/databases.ts'
import { Deploys, expectFinished } from '../support/deploys.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

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

  it.each([
    ['takes their node away', { a: '', sum: 'a' }, 'mail, mail/2'],
    ['makes a step of their node', steps, 'mail/2'],
  ])(
    'and %s lets old code go on with them, and is done with what failed when the node is skipped',
    async (_, V2, at) => {
      const { deploys, old, wf } = await midway()
      const version = deploys.version(V2)
      expect(await deploys.check(version)).toEqual({
        verdict: 'orphaned',
        what: `It stands at ${at}, which the code does not have. It will fail there and pause.`,
      })
      const fresh = await deploys.takeUp(wf, version)
      deploys.failing.add('mail/1')
      deploys.gates.open('mail/1')
      await waitFor(async () => (await wf.refresh()).state === 'paused')
      await old.close()
      await fresh.skip(wf.id, 'mail')
      await deploys.pass(fresh, 1)
      expect(deploys.ran).toEqual(['a', 'mail/0', 'mail/2', 'sum'])
      await expectFinished(wf)
    },
  )

  it.each([
    ['takes their node away', { a: '', sum: 'a' }],
    ['makes a step of their node', steps],
  ])('and %s fails at those that are left, and goes on when the node is skipped', async (_, V2) => {
    const { deploys, old, wf } = await midway()
    const fresh = await deploys.takeUp(wf, deploys.version(V2))
    const closing = old.close()
    deploys.gates.open('mail/1')
    await closing
    await deploys.pass(fresh, 1)
    expect((await wf.refresh()).state).toBe('paused')
    const left = (await wf.history()).find(({ step }) => step === 'mail/2')
    expect(left).toMatchObject({ state: 'failed', error: { className: 'StepMissingError' } })
    await fresh.skip(wf.id, 'mail')
    await deploys.pass(fresh, 1)
    expect(deploys.ran).toEqual(['a', 'mail/0', 'mail/1', 'sum'])
    await expectFinished(wf)
  })

  it('and lowers their limit keeps to it, once those that have begun have ended', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version(steps, { each: { mail: 4 }, concurrency: 2 }), 0)
    for (const item of ['mail/0', 'mail/1']) deploys.held.add(item)
    await deploys.pass(old, 1)
    await deploys.hold(old, 'mail/0')
    await deploys.gates.arrived('mail/1')
    const { fresh, what } = await deploys.heal(wf, deploys.version(steps, { each: { mail: 4 }, concurrency: 1 }))
    expect(what).toBe('The graph has changed: changed mail. Nothing happens to it now.')
    const told = async () => (await wf.events()).map(({ type, node }) => `${type} ${node}`)
    const closing = old.close()
    deploys.gates.open('mail/0')
    await waitFor(async () => (await told()).includes('step.completed mail/0'))
    deploys.gates.open('mail/1')
    await closing
    await deploys.pass(fresh, 2)
    expect((await told()).filter(line => /(released|completed) mail.[123]/.test(line))).toEqual([
      'step.completed mail/1',
      'step.released mail/2',
      'step.completed mail/2',
      'step.released mail/3',
      'step.completed mail/3',
    ])
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

  it('and renames it while old code asks for the items goes on with those', async () => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version(steps, { each: { mail: 2 } }), 1)
    await deploys.hold(old, 'items of mail')
    const options = { each: { post: 1 }, renamed: { mail: 'post' } }
    const { fresh } = await deploys.heal(wf, deploys.version({ a: '', post: 'a', sum: 'post' }, options))
    deploys.gates.open('items of mail')
    await old.close()
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'post/0', 'post/1', 'sum'])
    await expectFinished(wf)
  })

  it.each([
    ['makes a step of it', steps],
    ['takes it away', { a: '', sum: 'a' }],
  ])('and %s while old code asks for the items goes on with those in old code', async (_, V2) => {
    const deploys = new Deploys(under)
    const { old, wf } = await deploys.start(deploys.version(steps, { each: { mail: 2 } }), 1)
    await deploys.hold(old, 'items of mail')
    const fresh = await deploys.takeUp(wf, deploys.version(V2))
    deploys.gates.open('items of mail')
    await waitFor(async () => deploys.ran.includes('mail/1'))
    await old.close()
    await deploys.pass(fresh, 2)
    expect(deploys.ran).toEqual(['a', 'mail/0', 'mail/1', 'sum'])
    await expectFinished(wf)
  })
})
