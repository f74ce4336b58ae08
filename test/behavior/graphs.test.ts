/** Graphs: what depends on several waits for all of them, what depends on nothing else goes on beside. */
import { expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const ran: string[] = []

class Diamond extends Workflow {
  static {
    this.step('top')
    this.task('left', { dependsOn: 'top' })
    this.task('right', { dependsOn: 'top' })
    this.step('bottom', { dependsOn: ['left', 'right'] })
    this.step('last')
  }
  async top() {
    ran.push('top')
    return 1
  }
  async left() {
    ran.push('left')
    return (await this.output(this.top)) + 1
  }
  async right() {
    ran.push('right')
    return (await this.output(this.top)) + 2
  }
  async bottom() {
    ran.push('bottom')
    return (await this.output(this.left)) + (await this.output(this.right))
  }
  async last() {
    ran.push('last')
    return this.output(this.bottom)
  }
}

class Mailing extends Workflow {
  static {
    this.step('begin')
    this.each('mail', { items: () => [1, 2, 3, 4, 5], concurrency: 2 })
    this.step('sum')
  }
  async begin() {}
  async mail(number: number) {
    return number * 10
  }
  async sum() {
    return (await this.output(this.mail)).reduce((a, b) => a + b, 0)
  }
}

forEachDatabase('a graph', database => {
  const under = useGeneva(database, { workflows: [Diamond, Mailing] })

  it('runs a diamond, the fan-in once and last', async () => {
    ran.length = 0
    const wf = await under.geneva.start(Diamond)
    await under.geneva.runDue()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe(5)
    expect(ran[0]).toBe('top')
    expect(ran.slice(1, 3).toSorted()).toEqual(['left', 'right'])
    expect(ran.slice(3)).toEqual(['bottom', 'last'])
  })

  it('runs one execution for each item, and joins them', async () => {
    const wf = await under.geneva.start(Mailing)
    await under.geneva.runDue()
    expect(await wf.waitUntilFinished({ timeout: '5s' })).toBe(150)
    expect((await wf.history()).map(row => row.step)).toEqual([
      'begin',
      'mail',
      'mail/0',
      'mail/1',
      'mail/2',
      'mail/3',
      'mail/4',
      'sum',
    ])
  })
})
