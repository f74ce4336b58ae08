/** What the application's function `transactions` may do wrong, and what it is thrown when a step is undone. */
import { afterEach, beforeAll, expect, it } from 'vitest'
import { type OpenTransaction, type Transaction, Workflow } from '../../src/index.ts'
import { driverTransactions } from '../programs/harness/driver-transactions.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

type Open = (run: (tx: unknown) => Promise<unknown>) => Promise<unknown>

let throws = false

class Booking extends Workflow {
  static {
    this.named('booking by a function')
    this.allowMultiple()
    this.transactionalStep('book')
  }
  async book(_: Transaction) {
    if (throws) throw new Error('sold out')
    return 'booked'
  }
}

forEachDatabase('the function `transactions`', database => {
  let open: Open
  let wrapped: Open = run => open(run)
  const under = useGeneva(database, {
    workflows: [Booking],
    transactions: (run => wrapped(run as (tx: unknown) => Promise<unknown>)) as OpenTransaction,
  })
  beforeAll(() => {
    open = driverTransactions(under.url) as unknown as Open
  })
  afterEach(() => {
    throws = false
    wrapped = run => open(run)
  })

  /** What the step has come to, and the first workflow after it, which nothing of it may stand in the way of. */
  async function endOf(wrapper: Open) {
    wrapped = wrapper
    const wf = await under.geneva.start(Booking)
    const worker = await under.geneva.startWorker({ poll: 20, grace: 0 })
    await waitFor(async () => ['finished', 'paused'].includes((await wf.refresh()).state))
    throws = false
    wrapped = run => open(run)
    const next = await under.geneva.start(Booking)
    await waitFor(async () => (await next.refresh()).state === 'finished')
    await worker.stop()
    return (await wf.history()).map(({ outcome, error }) => [outcome, error?.message ?? null])
  }

  it('that resolves without having called lets the step fail, and says so', async () => {
    const ended = await endOf(async () => undefined)
    expect(ended).toEqual([['paused_by_exception', expect.stringContaining('without calling `run`')]])
  })

  it('that keeps to itself what was committed has committed it', async () => {
    const ended = await endOf(async run => {
      await open(run)
    })
    expect(ended).toEqual([['success', null]])
  })

  it('that keeps to itself that nothing was committed lets the step fail', async () => {
    const ended = await endOf(async run => {
      await open(async tx => {
        await run(tx)
        throw new Error('lost on the way')
      }).catch(() => {})
    })
    expect(ended).toEqual([['paused_by_exception', expect.stringContaining('let it throw when nothing was committed')]])
  })

  it.each([
    ['looks at what it is thrown', (error: unknown) => error],
    ['throws something else instead', (error: unknown) => new Error('It was not committed.', { cause: error })],
  ])('that %s rolls back, and the step has failed with what it threw itself', async (_, instead) => {
    throws = true
    const heard: string[] = []
    const ended = await endOf(run =>
      open(async tx => {
        try {
          return await run(tx)
        } catch (error) {
          // A symbol could not be put into a text.
          heard.push(`failed: ${error}`)
          throw instead(error)
        }
      }),
    )
    expect(heard).toEqual([expect.stringContaining('what it has written is undone')])
    expect(ended).toEqual([['paused_by_exception', 'sold out']])
  })
})
