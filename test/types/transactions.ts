/** Everything here must compile: transactions in steps, tasks, branches, compensations, items and jobs. */
import {
  type Compensation,
  defineJob,
  Geneva,
  type Iteration,
  type NodeRef,
  type OpenTransaction,
  type SqlTransaction,
  type StepName,
  type Transaction,
  Workflow,
} from '../../src/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function expectType<_T extends true>(): void {}

// Where nothing is registered, Geneva opens the transactions itself.
expectType<Equal<Transaction, SqlTransaction>>()

export class Reserving extends Workflow<null, { order: string }> {
  static {
    const reserved = this.transactionalStep('reserve', {
      compensate: { step: 'release', transaction: true, retry: 5, afterFailure: false },
      retry: 3,
      timeout: '5s',
    })
    expectType<Equal<typeof reserved, NodeRef<{ reservation: string }>>>()
    this.transactionalStep('note', { compensate: 'forget', if: wf => wf.input.order !== '' })
    this.task('beside', { transaction: true, dependsOn: 'reserve' })
    this.fork('both', { one: b => b.transactionalStep('left'), two: b => b.task('right', { transaction: true }) })
    this.resumableStep('items')
    this.step('after', { dependsOn: ['left', reserved], afterStep: 'note' })
  }
  async reserve(tx: Transaction) {
    const rows = await tx.query('insert into reservations (id) values ($1) returning id', [this.input.order])
    return { reservation: String(rows[0]?.id) }
  }
  async release(undo: Compensation<Reserving['reserve']>, tx: Transaction) {
    await tx.query('delete from reservations where id = $1', [undo.output?.reservation])
  }
  async note(_tx: Transaction) {}
  async forget() {}
  async beside(_tx: Transaction) {}
  async left(_tx: Transaction) {}
  async right(_tx: Transaction) {}
  async items(iter: Iteration<number>) {
    for await (const item of iter.over([1, 2])) {
      const total = await iter.transaction(async tx => (await tx.query('select 1')).length + item)
      expectType<Equal<typeof total, number>>()
    }
  }
  async after() {
    return (await this.output(this.reserve)).reservation
  }
}

expectType<
  Equal<StepName<Reserving>, 'reserve' | 'note' | 'beside' | 'left' | 'right' | 'items' | 'after' | 'forget'>
>()

export const note = defineJob('note', { transaction: true }, async (args: { text: string }, job) => {
  expectType<Equal<typeof job.transaction, Transaction>>()
  await job.transaction.query('insert into notes (text) values ($1)', [args.text])
})

declare const open: OpenTransaction
export const geneva = new Geneva({ database: 'sqlite:app.db', workflows: [Reserving], transactions: open })

export class Mistaken extends Workflow {
  static {
    // @ts-expect-error a method that receives a transaction is no plain step
    this.step('write')
    // @ts-expect-error a method that receives nothing is no transactional step
    this.transactionalStep('plain')
    // @ts-expect-error a task whose method receives a transaction says so
    this.task('write', { dependsOn: 'plain' })
    // @ts-expect-error a task whose method receives nothing has no transaction
    this.task('plain', { transaction: true })
    // @ts-expect-error what runs in a transaction may be run again
    this.transactionalStep('write', { idempotent: false })
    // @ts-expect-error a compensation that receives a transaction has one
    this.transactionalStep('write', { compensate: 'undo' })
    // @ts-expect-error a compensation that receives a transaction has one, with options
    this.transactionalStep('write', { compensate: { step: 'undo', retry: 3 } })
    // @ts-expect-error a compensation that does not accept what the step returns
    this.transactionalStep('write', { compensate: { step: 'other', transaction: true } })
    // @ts-expect-error what is undone in a transaction may be undone again
    this.transactionalStep('write', { compensate: { step: 'undo', transaction: true, idempotent: false } })
    // @ts-expect-error a method that receives a transaction is no item's
    this.each('write', { items: () => [] })
  }
  async write(_tx: Transaction) {
    return 1
  }
  async undo(_undo: Compensation<number>, _tx: Transaction) {}
  async other(_undo: Compensation<string>, _tx: Transaction) {}
  async plain() {}
}

// @ts-expect-error a function that opens a transaction, not one that is open
export const closed = new Geneva({ database: 'sqlite:app.db', transactions: {} })
