/** Two worked examples of graphs: an order and a diamond, declared, drawn and run. */
import { expect, it } from 'vitest'
import { type AnyWorkflow, type ConcreteClass, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const ended = new Map<string, string[]>()

/** Notes when each step ends, for every workflow on its own. */
abstract class Noting extends Workflow {
  static {
    this.afterEach((wf, step) => {
      ended.set(wf.id, [...(ended.get(wf.id) ?? []), step.name])
    })
  }
}

class Order extends Noting {
  static {
    this.step('validate')
    this.step('enrichData')
    this.task('checkInventory', { dependsOn: 'validate' })
    this.task('checkFraud', { dependsOn: 'validate' })
    this.step('readyToCharge', { dependsOn: ['checkInventory', 'checkFraud'] })
    this.step('chargeCard')
    this.task('sendReceipt', { dependsOn: 'chargeCard' })
    this.task('updateAnalytics', { dependsOn: 'chargeCard' })
    this.step('complete', { dependsOn: ['chargeCard', 'sendReceipt', 'updateAnalytics'] })
  }
  async validate() {}
  async enrichData() {}
  async checkInventory() {}
  async checkFraud() {}
  async readyToCharge() {}
  async chargeCard() {}
  async sendReceipt() {}
  async updateAnalytics() {}
  async complete() {}
}

const orderDrawing = `graph TD
    validate --> enrichData
    validate --> checkInventory
    validate --> checkFraud
    checkInventory --> readyToCharge
    checkFraud --> readyToCharge
    readyToCharge --> chargeCard
    chargeCard --> sendReceipt
    chargeCard --> updateAnalytics
    chargeCard --> complete
    sendReceipt --> complete
    updateAnalytics --> complete`

class Diamond extends Noting {
  static {
    this.step('validate')
    this.task('checkInventory', { dependsOn: 'validate' })
    this.task('checkFraud', { dependsOn: 'validate' })
    this.step('charge', { dependsOn: ['checkInventory', 'checkFraud'] })
    this.step('ship')
    this.step('complete')
  }
  async validate() {}
  async checkInventory() {}
  async checkFraud() {}
  async charge() {}
  async ship() {}
  async complete() {}
}

const diamondDrawing = `graph TD
    validate --> checkInventory
    validate --> checkFraud
    checkInventory --> charge
    checkFraud --> charge
    charge --> ship
    ship --> complete`

/** Every parent in a drawing ended before its child. */
function expectOrder(drawing: string, order: readonly string[]): void {
  const edges = [...drawing.matchAll(/^ +(\w+) --> (\w+)$/gm)].map(([, from = '', to = '']) => [from, to] as const)
  expect(new Set(order)).toEqual(new Set(edges.flat()))
  expect(order).toHaveLength(new Set(order).size)
  for (const [from, to] of edges) {
    expect(order.indexOf(from), `${from} before ${to}`).toBeLessThan(order.indexOf(to))
  }
}

forEachDatabase('a worked example', database => {
  const under = useGeneva(database, { workflows: [Order, Diamond] })

  it.each([
    ['the order', Order as ConcreteClass<AnyWorkflow>, orderDrawing],
    ['the diamond', Diamond as ConcreteClass<AnyWorkflow>, diamondDrawing],
  ] as const)('%s is drawn as it was declared, and runs in that order', async (_, type, drawing) => {
    expect(await under.geneva.draw(type, { format: 'mermaid' })).toBe(drawing)
    // Ids are the same in every database.
    ended.clear()
    const wf = await under.geneva.start(type)
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expectOrder(drawing, ended.get(wf.id) ?? [])
    expect(await wf.verifyHistory()).toBeNull()
    expect((await wf.nodesWithState()).map(node => node.state)).toEqual(
      (await wf.nodesWithState()).map(() => 'completed'),
    )
    expect(await wf.draw()).toContain('✓')
  })
})
