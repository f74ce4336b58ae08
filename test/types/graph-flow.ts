/** Control flow in graphs that are built at run time: what must compile, and marked lines that must not. */
// biome-ignore-all lint/suspicious/noThenProperty: `then` is a branch of a condition.
import { z } from 'zod'
import {
  type Decided,
  defineForm,
  defineHero,
  defineJob,
  type EndedChild,
  type Geneva,
  type Iteration,
  type Job,
  type NodeHandle,
  Workflow,
} from '../../src/index.ts'

declare const geneva: Geneva
declare function touch(text: string): Promise<void>
declare const mutations: { id: number }[]

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function expectType<_T extends true>(): void {}

const Approval = z.object({ limit: z.number() })
const ApprovalForm = defineForm('approval', Approval)
const processMutation = defineJob('processMutation', async (args: { mutationId: number }, job) => ({
  delta: args.mutationId,
  key: job.idempotencyKey,
}))
const undoMutation = defineJob('undoMutation', async (args: { mutationId: number }, job) => {
  await touch(`${args.mutationId} ${job.undo?.reason.kind}`)
})
const findMutation = defineJob('findMutation', async (args: { mutationId: number }) => ({
  happened: args.mutationId > 5,
}))
const undoOther = defineJob('undoOther', async (args: { other: string }) => args.other)
const aggregate = defineJob('aggregate', { args: z.object({ userId: z.string() }), retry: 3 }, async ({ userId }) => ({
  userId,
  total: 5,
}))
const report = defineJob('report', async (args: { summary: { total: number }; limit?: number }) => {
  await touch(`${args.summary.total}`)
})

const copy = defineJob(
  'copy',
  { resumable: true, args: z.object({ ids: z.array(z.number()) }), yieldEvery: 100 },
  async ({ ids }, job, iter: Iteration<number>) => {
    for await (const id of iter.over(ids)) await touch(`${id} ${job.idempotencyKey}`)
    return { copied: iter.completedIterations }
  },
)
expectType<Equal<typeof copy, Job<{ ids: number[] }, { copied: number }>>>()
// @ts-expect-error the options of an iteration belong to resumable jobs
defineJob('odd', { yieldEvery: 5 }, async () => 5)
// @ts-expect-error a resumable job has a transaction for each item, not one for all
defineJob('odd', { resumable: true, transaction: true }, async () => 5)
// @ts-expect-error only a resumable job has an iteration
defineJob('odd', { queue: 'x' }, async (_args, _job, iter: Iteration<number>) => iter.cursor)
// @ts-expect-error returns a value that cannot be stored
defineJob('odd', { resumable: true }, async (_args, _job, iter: Iteration<number>) => () => iter.cursor)

interface Order {
  id: number
}
const Orders = defineHero('Order', { id: (order: Order) => order.id, load: (id): Order => ({ id }) })
const Users = defineHero('User', { id: (user: { name: string }) => user.name, load: name => ({ name }) })
class Invoice extends Workflow<Order, { amount: number; note?: string }> {}
class Sweep extends Workflow {}
const order = defineJob('order', async () => Orders.ref(5))
const orderId = defineJob('orderId', async () => 5)
const text = defineJob('text', async () => 'five')

geneva.build(w => {
  const found = w.node('order', { job: order })
  const id = w.node('orderId', { job: orderId })
  const word = w.node('text', { job: text })
  const ended = w.child('sweep', { workflow: Sweep, if: 'input.go', timeout: '1 day' })
  expectType<Equal<typeof ended, NodeHandle<EndedChild>>>()
  w.child('a', { workflow: Invoice, hero: Orders.ref(5), input: { amount: id.output } })
  w.child('b', { workflow: Invoice, hero: found.output, input: { amount: 5, note: word.output } })
  w.child('c', { workflow: Invoice, hero: { heroType: 'Order', id: id.output }, input: { amount: 5 } })
  w.child('d', { workflow: Invoice, workflowId: word.output })
  w.child('e', { workflow: 'Elsewhere', hero: Orders.ref(5), input: { anything: 5 }, retry: 3 })
  w.child('f', { workflow: 'Elsewhere', workflowId: '5' })
  // @ts-expect-error a record cannot be stored
  w.child('x', { workflow: Invoice, hero: { id: 5 }, input: { amount: 5 } })
  // @ts-expect-error a hero of another type
  w.child('x', { workflow: Invoice, hero: Users.ref('ann'), input: { amount: 5 } })
  // @ts-expect-error no hero
  w.child('x', { workflow: Invoice, input: { amount: 5 } })
  // @ts-expect-error no input
  w.child('x', { workflow: Invoice, hero: Orders.ref(5) })
  // @ts-expect-error an output of another type
  w.child('x', { workflow: Invoice, hero: Orders.ref(5), input: { amount: word.output } })
  // @ts-expect-error what exists is not started
  w.child('x', { workflow: Invoice, workflowId: '5', input: { amount: 5 } })
  // @ts-expect-error a function cannot be stored
  w.child('x', { workflow: Invoice, start: () => ({}) })
  // @ts-expect-error an expression is stored, and a function cannot be
  w.node('x', { job: text, if: () => true })
  // @ts-expect-error how long people are waited for is said by a deadline
  w.human('x', { timeout: '1s' })
})

geneva.build(w => {
  const all = w.fanOut(mutations, {
    name: m => `mutation_${m.id}`,
    job: processMutation,
    args: m => ({ mutationId: m.id }),
    dependsOn: null,
    retry: 3,
    compensate: undoMutation,
  })
  const enough = w.join('enough', { dependsOn: all, rule: { atLeast: 2 } })
  const sum = w.node('aggregate', { job: aggregate, args: { userId: 'u1' }, dependsOn: enough })
  w.savePoint('summed')
  const large = w.condition('large', 'outputs.aggregate.total > 100', {
    then: b => {
      const approved = b.human('approve', { form: ApprovalForm, onReject: { backTo: sum }, deadline: '3 days' })
      expectType<Equal<typeof approved, NodeHandle<Decided<{ limit: number }>>>>()
      b.node('limited', { job: report, args: { summary: sum.output, limit: 5 } })
    },
    else: b => b.waitFor('delivered', { timeout: '1 day', onTimeout: 'skip', payload: ApprovalForm }),
    args: { total: sum.output },
  })
  expectType<Equal<typeof large, NodeHandle<boolean>>>()
  w.fork(
    'both',
    { x: b => b.node('x', { job: aggregate, args: { userId: 'x' } }), y: b => b.human('y') },
    { join: 'any' },
  )
  w.parallel('more', b => [b.human('a'), b.human('b', { quorum: 2, onReject: 'rollback' })], { join: false })
  w.node('undoable', {
    job: processMutation,
    args: { mutationId: 7 },
    compensate: { job: undoMutation, retry: 5, timeout: '5s', afterFailure: false },
    idempotent: false,
    reconcile: findMutation,
  })
  w.node('report', { job: report, args: { summary: sum.output }, dependsOn: [sum] })

  // @ts-expect-error a condition is stored, and a function cannot be
  w.condition('c', () => true, { then: b => b.human('h') })
  // @ts-expect-error a save point cannot stand in a branch
  w.condition('c', 'true', { then: b => b.savePoint('s') })
  // @ts-expect-error a form is stored by its name
  w.human('h', { form: Approval })
  // @ts-expect-error a rule that no join has
  w.parallel('p', b => b.human('h'), { join: 'most' })
  // @ts-expect-error a compensation that takes other arguments than the node has
  w.node('n', { job: processMutation, args: { mutationId: 7 }, compensate: undoOther })
  // @ts-expect-error a job that does not tell whether the call happened
  w.node('n', { job: processMutation, args: { mutationId: 7 }, idempotent: false, reconcile: undoMutation })
  // @ts-expect-error a compensation is a job
  w.node('n', { job: processMutation, args: { mutationId: 7 }, compensate: 'undoMutation' })
  // @ts-expect-error a join says what comes together
  w.join('j', {})
  // @ts-expect-error what people decide on is not retried
  w.human('h', { retry: 3 })
})
