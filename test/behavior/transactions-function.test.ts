/** What the application's function `transactions` may do wrong, and what it is thrown when a step is undone. */
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type Iteration, type OpenTransaction, type Transaction, Workflow } from '../../src/index.ts'
import { driverTransactions } from '../programs/harness/driver-transactions.ts'
import { conflictOf } from '../support/conflict-of.ts'
import { forEachDatabase, forEachServerAtOnce } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { somebodyWaits } from '../support/somebody-waits.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { gate, waitFor } from '../support/wait-for.ts'

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

class Journey extends Workflow {
  static {
    this.named('journey by a function')
    this.transactionalStep('book')
    this.transactionalStep('pay')
  }
  async book(_: Transaction) {}
  async pay(_: Transaction) {
    return 'paid'
  }
}

forEachDatabase('the function `transactions`', database => {
  let open: Open
  let wrapped: Open = run => open(run)
  const under = useGeneva(database, {
    workflows: [Booking, Journey],
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

  it.each([[{}], [null]])(
    'that hands over %o instead of a transaction is told so, whatever it makes of that',
    async no => {
      const ended = await endOf(run => run(no).catch(() => {}))
      expect(ended).toEqual([['paused_by_exception', expect.stringContaining('The `transaction` option holds')]])
    },
  )

  it('that hands over a transaction when something else was refused has the step done in that', async () => {
    const ended = await endOf(async run => {
      await run({}).catch(() => {})
      return open(run)
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

  it.each([[true], [null], [{ kind: 'refused' }]])(
    'that returns %o instead keeps no worker from the step that follows',
    async own => {
      wrapped = async run => {
        await open(run)
        return own
      }
      const wf = await under.geneva.start(Journey)
      const worker = await under.geneva.startWorker({ poll: 20, grace: 0 })
      expect(await wf.waitUntilFinished({ timeout: '20s' })).toBe('paid')
      await worker.stop()
      expect((await wf.history()).map(({ step, outcome }) => [step, outcome])).toEqual([
        ['book', 'success'],
        ['pay', 'success'],
      ])
      expect(under.errors.filter(({ context }) => context?.workflowId === wf.id)).toEqual([])
    },
  )

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

/** That of node:sqlite is synchronous, and `query` is what the others call it. */
async function send(tx: any, statement: string): Promise<void> {
  await (tx.query ? tx.query(statement) : tx.exec(statement))
}

class Noting extends Workflow {
  static {
    this.named('noting by a function')
    this.allowMultiple()
    this.transactionalStep('note')
  }
  async note(tx: Transaction) {
    await send(tx, `insert into copies (workflow_id, item) values (${this.id}, 7)`)
  }
}

/** What the code of an item does in its transaction, once it has written. */
let inside: (workflow: Copying, item: number) => Promise<void> = async () => {}

class Copying extends Workflow {
  static {
    this.named('copying by a function')
    this.resumableStep('copy', { timeout: '2s' })
  }
  async copy(iter: Iteration<number>) {
    for await (const item of iter.over([1, 2, 3])) {
      await iter.transaction(async (tx: any) => {
        await send(tx, `insert into copies (workflow_id, item) values (${this.id}, ${item})`)
        await inside(this, item)
      })
    }
  }
}

forEachDatabase('the function `transactions` around an item', database => {
  let open: Open
  let wrapped: Open = run => open(run)
  const under = useGeneva(database, {
    workflows: [Copying, Noting],
    transactions: (run => wrapped(run as (tx: unknown) => Promise<unknown>)) as OpenTransaction,
  })
  let plain: PlainConnection
  beforeAll(async () => {
    open = driverTransactions(under.url) as unknown as Open
    plain = await connectPlainly(database.name, under.url)
    await plain.query('create table copies (workflow_id bigint not null, item integer not null)')
  })
  afterAll(() => plain.close())
  afterEach(() => {
    inside = async () => {}
    wrapped = run => open(run)
  })

  /** Calls the function for the second item otherwise than for the others, as long as the step has not failed. */
  async function copyWith(second: Open) {
    let calls = 0
    wrapped = run => (++calls === 2 ? second(run) : open(run))
    const wf = await under.geneva.start(Copying)
    const worker = await under.geneva.startWorker(quickly)
    await waitFor(async () => ['finished', 'paused'].includes((await wf.refresh()).state))
    wrapped = run => open(run)
    if (wf.state === 'paused') await wf.resume()
    await wf.waitUntilFinished({ timeout: '20s' })
    await worker.stop()
    const rows = await plain.query(`select item from copies where workflow_id = ${wf.id} order by item`)
    const ended = (await wf.history()).map(({ outcome, error }) => [outcome, error?.message ?? null])
    return { ended, items: rows.map(({ item }) => Number(item)) }
  }

  /** The code of the second item throws when it is called for the first time. */
  function failOnce(error: Error) {
    const met = { calls: 0, thrown: gate() }
    inside = async (_, item) => {
      if (item !== 2 || ++met.calls > 1) return
      met.thrown.open()
      throw error
    }
    return met
  }

  it('that keeps to itself that nothing was committed lets the step fail, and no item is passed over', async () => {
    const { ended, items } = await copyWith(async run => {
      await open(async tx => {
        await run(tx)
        throw new Error('lost on the way')
      }).catch(() => {})
    })
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([
      ['paused_by_exception', expect.stringContaining('let it throw when nothing was committed')],
      ['success', null],
    ])
  })

  it('that keeps to itself what the code has thrown lets the step fail with that', async () => {
    failOnce(new Error('sold out'))
    const { ended, items } = await copyWith(run => open(run).catch(() => {}))
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([
      ['paused_by_exception', 'sold out'],
      ['success', null],
    ])
  })

  it.each([[undefined], [true], [{ result: 'another' }]])(
    'that returns %o instead of what was committed has committed it',
    async own => {
      const { ended, items } = await copyWith(async run => {
        await open(run)
        return own
      })
      expect(items).toEqual([1, 2, 3])
      expect(ended).toEqual([['success', null]])
    },
  )

  /** Of those that it calls for at once, the answer of the one that has come to something. */
  async function twiceAtOnce(run: (tx: unknown) => Promise<unknown>) {
    const all = await Promise.allSettled([open(run), open(run)])
    const done = all.find(each => each.status === 'fulfilled')
    if (done === undefined) throw new AggregateError(all.map(each => each.status === 'rejected' && each.reason))
    return done.value
  }

  it('that calls twice at once has the item written once', async () => {
    const { ended, items } = await copyWith(twiceAtOnce)
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([['success', null]])
  })

  it('that calls twice at once has a step and what it has written committed once, and together', async () => {
    wrapped = twiceAtOnce
    const all = await Promise.all(Array.from({ length: 10 }, () => under.geneva.start(Noting)))
    const worker = await under.geneva.startWorker({ ...quickly, concurrency: 1 })
    for (const wf of all) {
      await wf.waitUntilFinished({ timeout: '20s' })
      expect((await wf.history()).map(({ outcome }) => outcome)).toEqual(['success'])
      const rows = await plain.query(`select item from copies where workflow_id = ${wf.id}`)
      expect(rows.map(({ item }) => Number(item))).toEqual([7])
    }
    await worker.stop()
  })

  const { code } = conflictOf(database.name) as Error & { code?: string }

  it('that tries again for as long as there is a conflict does not do so for ever: all is run again', async () => {
    const met = failOnce(conflictOf(database.name))
    let tries = 0
    const { ended, items } = await copyWith(async run => {
      while (++tries < 50) {
        try {
          return await open(run)
        } catch (error) {
          if ((error as { code?: string }).code !== code) throw error
        }
      }
      throw new Error('It goes on for ever.')
    })
    expect(tries).toBe(2)
    expect(met.calls).toBe(2)
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([['success', null]])
  })

  it('that makes something else of every error keeps no conflict from being got over', async () => {
    const met = failOnce(conflictOf(database.name))
    const { ended, items } = await copyWith(run =>
      open(run).catch(() => {
        throw new Error('It did not work.')
      }),
    )
    expect(met.calls).toBe(2)
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([['success', null]])
  })

  it('that leaves the promise of `run` alone lets the step fail with what the code has thrown', async () => {
    const { thrown } = failOnce(new Error('sold out'))
    const { ended, items } = await copyWith(run =>
      open(async tx => {
        void run(tx)
        await thrown.passed
        await new Promise(setImmediate)
        throw new Error('rolled back')
      }).catch(() => {}),
    )
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([
      ['paused_by_exception', 'sold out'],
      ['success', null],
    ])
  })

  it('that meets a conflict of its own after the commit has committed the item, once', async () => {
    const { ended, items } = await copyWith(async run => {
      await open(run)
      throw conflictOf(database.name)
    })
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([['success', null]])
  })

  it('that does not wait for the end of its own transaction has committed it', async () => {
    const atWork = gate()
    inside = async (_, item) => {
      if (item === 2) atWork.open()
    }
    const { ended, items } = await copyWith(async run => {
      void open(run)
      await atWork.passed
    })
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([['success', null]])
  })

  it('that rejects while the code is at work has committed nothing, however the code goes on', async () => {
    const atWork = gate()
    const rejected = gate()
    let isFirst = true
    inside = async (_, item) => {
      if (item !== 2 || !isFirst) return
      isFirst = false
      atWork.open()
      await rejected.passed
    }
    const late: Promise<unknown>[] = []
    const { ended, items } = await copyWith(async run => {
      late.push(open(run).catch(error => error.message))
      await atWork.passed
      // The code ends when the function has: the step has failed by then.
      setTimeout(rejected.open, 50)
      throw new Error('too slow')
    })
    expect(await Promise.all(late)).toEqual([expect.stringContaining('what it has written is undone')])
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([
      ['paused_by_exception', 'too slow'],
      ['success', null],
    ])
  })

  it('that calls when it has resolved already calls for nothing', async () => {
    const called: number[] = []
    inside = async (_, item) => void called.push(item)
    let callLate: () => Promise<unknown> = async () => {}
    const { ended, items } = await copyWith(async run => {
      callLate = () => open(run)
    })
    await expect(callLate()).rejects.toThrow('what it has written is undone')
    expect(called).toEqual([1, 2, 3])
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([
      ['paused_by_exception', expect.stringContaining('without calling `run`')],
      ['success', null],
    ])
  })

  it('that keeps to itself that the item was given up when its time was over does not move the cursor past it', async () => {
    let slow = true
    inside = async ({ signal }, item) => {
      if (item !== 2 || !slow) return
      slow = false
      await waitFor(() => signal.aborted)
    }
    const heard: string[] = []
    const { ended, items } = await copyWith(run =>
      open(run).catch(error => {
        // A symbol could not be put into a text.
        heard.push(`failed: ${error}`)
      }),
    )
    // The step is not kept waiting for that.
    await waitFor(() => heard.length > 0)
    expect(heard).toEqual([expect.stringContaining('what it has written is undone')])
    expect(items).toEqual([1, 2, 3])
    expect(ended).toEqual([
      ['timed_out', expect.any(String)],
      ['success', null],
    ])
  })
})

forEachServerAtOnce('the function `transactions` that rejects while the outcome is written', database => {
  let open: Open
  let wrapped: Open
  const under = useGeneva(database, {
    workflows: [Journey],
    transactions: (run => wrapped(run as (tx: unknown) => Promise<unknown>)) as OpenTransaction,
  })

  it('has committed it, and the next step follows at once', async () => {
    open = driverTransactions(under.url) as unknown as Open
    const [locker, watcher] = await Promise.all([1, 2].map(() => connectPlainly(database.name, under.url)))
    if (!locker || !watcher) throw new Error('There are no connections.')
    let calls = 0
    wrapped = async run => {
      if (++calls > 1) return open(run)
      await locker.query('begin')
      await locker.query(`select * from geneva_drive_workflows where id = ${wf.id} for update`)
      const opened = open(run)
      await Promise.race([opened, somebodyWaits(database.name, watcher)])
      void opened.catch(() => {})
      setTimeout(() => void locker.query('commit'), 200)
      throw new Error('too slow')
    }
    const wf = await under.geneva.start(Journey)
    const worker = await under.geneva.startWorker({ poll: 20, grace: 0 })
    expect(await wf.waitUntilFinished({ timeout: '20s' })).toBe('paid')
    await worker.stop()
    expect((await wf.history()).map(({ step, outcome }) => [step, outcome])).toEqual([
      ['book', 'success'],
      ['pay', 'success'],
    ])
    expect(under.errors).toEqual([])
    await Promise.all([locker.close(), watcher.close()])
  })
})

forEachServerAtOnce(
  'the function `transactions` that rolls back while the lock for the outcome is waited for',
  database => {
    let wrapped: Open
    const under = useGeneva(database, {
      workflows: [Noting],
      transactions: (run => wrapped(run as (tx: unknown) => Promise<unknown>)) as OpenTransaction,
    })

    it('has not recorded what it has rolled back', async () => {
      const open = driverTransactions(under.url) as unknown as Open
      const [locker, watcher] = await Promise.all([1, 2].map(() => connectPlainly(database.name, under.url)))
      if (!locker || !watcher) throw new Error('There are no connections.')
      await watcher.query('create table copies (workflow_id bigint not null, item integer not null)')
      let calls = 0
      wrapped = run => {
        if (++calls > 1) return open(run)
        return open(async (tx: any) => {
          await locker.query('begin')
          await locker.query(`select * from geneva_drive_workflows where id = ${wf.id} for update`)
          const running = run(tx)
          await Promise.race([running, somebodyWaits(database.name, watcher)])
          // It is the next thing that the connection does when the lock is there.
          const rolledBack = tx.query('rollback')
          setTimeout(() => void locker.query('commit'), 200)
          await rolledBack
          // Until then the connection is open, as one of a pool would be.
          await running.catch(() => {})
          throw new Error('too slow')
        })
      }
      const wf = await under.geneva.start(Noting)
      const worker = await under.geneva.startWorker({ poll: 20, grace: 0 })
      const written = async () => {
        const rows = await watcher.query(`select item from copies where workflow_id = ${wf.id}`)
        return rows.map(({ item }) => Number(item))
      }
      await waitFor(async () => ['finished', 'paused'].includes((await wf.refresh()).state))
      const ended = async () => (await wf.history()).map(({ outcome, error }) => [outcome, error?.message ?? null])
      const failed = ['paused_by_exception', expect.stringContaining('has ended, or has failed, before the step did')]
      expect(await ended()).toEqual([failed])
      expect(await written()).toEqual([])
      await wf.resume()
      await wf.waitUntilFinished({ timeout: '20s' })
      await worker.stop()
      expect(await ended()).toEqual([failed, ['success', null]])
      expect(await written()).toEqual([7])
      await Promise.all([locker.close(), watcher.close()])
    })
  },
)
