/** A sign-up of nine days, tested in milliseconds and without a server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineHero, Workflow } from '../../src/index.ts'
import { testGeneva } from '../../src/testing.ts'

interface User {
  id: number
  activated: boolean
}

const users = new Map<number, User>()
const mails: string[] = []
const Users = defineHero('User', { id: (user: User) => user.id, load: id => users.get(id) })

class Signup extends Workflow<User> {
  static {
    this.heroes(Users)
    this.step('welcome')
    this.step('remind', { wait: '2 days', skipIf: wf => wf.hero.activated })
    this.step('settle', { wait: '7 days' })
  }
  async welcome() {
    mails.push(`welcome ${this.hero.id}`)
  }
  async remind() {
    mails.push(`remind ${this.hero.id}`)
  }
  async settle() {
    if (!this.hero.activated) this.cancel('never activated')
    return { settled: this.hero.id }
  }
}

function register(id: number): User {
  const user = { id, activated: false }
  users.set(id, user)
  return user
}

test('a user who does nothing is reminded after two days and dropped after nine', async () => {
  await using kit = await testGeneva({ workflows: [Signup] })
  const wf = await kit.start(Signup, { hero: register(1) })
  await kit.speedrun(wf)
  await kit.assertState(wf, 'canceled')
  await kit.assertExecutedSteps(wf, ['welcome', 'remind', 'settle'])
  assert.deepEqual(mails, ['welcome 1', 'remind 1'])
})

test('a user who activates the account in time is not reminded', async () => {
  await using kit = await testGeneva({ workflows: [Signup] })
  const user = register(2)
  const wf = await kit.start(Signup, { hero: user })
  const welcome = await kit.performNextStep(wf)
  assert.equal(welcome?.outcome, 'success')

  await kit.advance('1 day')
  assert.equal(await kit.performNextStep(wf), null)

  user.activated = true
  await kit.speedrun(wf)
  await kit.assertStepSkipped(wf, 'remind')
  await kit.assertState(wf, 'finished')
  assert.deepEqual(await wf.output('settle'), { settled: 2 })
  assert.deepEqual(kit.errors, [])
})
