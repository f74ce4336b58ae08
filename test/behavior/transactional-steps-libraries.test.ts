/** Transactional steps on transactions that the application opens with its own library, whichever that is. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  type Geneva,
  type Iteration,
  type OpenTransaction,
  type Transaction,
  Workflow,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { quickly, useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Application, committed, notesTable } from './transactional-start/application.ts'
import { libraries } from './transactional-start/libraries.ts'
import { plainDrivers } from './transactional-start/plain-drivers.ts'

/** What the tests do in a step, by the name in its input. Every library has a type of its own, which an application would register. */
const works = new Map<string, (tx: any, workflow: Workflow<any, any>) => Promise<unknown>>()

/** Everything that some library takes for a placeholder, an escape or the end of a list. */
const oddText = `"it's" {a,b}, \\ \\? ?? $1 :name :: 100% é 🎁`

/** When the step beside the one that writes may end. */
let besideEnds: Promise<void> = Promise.resolve()

class Noting extends Workflow<null, { work: string }> {
  static {
    this.fork('both', { one: b => b.transactionalStep('write'), two: b => b.step('beside') })
    this.step('after')
  }
  async write(tx: Transaction) {
    await works.get(this.input.work)?.(tx, this)
    return oddText
  }
  beside() {
    return besideEnds
  }
  async after() {
    return this.output(this.write)
  }
}

class Copying extends Workflow<null, { work: string }> {
  static {
    this.resumableStep('copy')
  }
  async copy(iter: Iteration<number>) {
    for await (const item of iter.over([1, 2, 3])) {
      await iter.transaction(async tx =>
        works.get(this.input.work)?.(tx, Object.create(this, { item: { value: item } })),
      )
    }
  }
}

/** A cursor may be anything that JSON has, and must come back as it was. */
class Going extends Workflow<null, { work: string }> {
  static {
    this.resumableStep('go')
  }
  async go(iter: Iteration<{ readonly at: string }>) {
    const after = (cursor: { readonly at: string } | null) => places.filter(name => name > (cursor?.at ?? ''))
    for await (const name of iter.records(after, at => ({ at }))) {
      await iter.transaction(async tx =>
        works.get(this.input.work)?.(tx, Object.create(this, { item: { value: name } })),
      )
    }
  }
}

const places = ['a', 'b', 'c'].map(name => `${name} ${oddText}`)

const workflows = [Noting, Copying, Going]

forEachDatabase('a transactional step in the application’s own library', database => {
  const under = useGeneva(database, { workflows })
  let plain: PlainConnection
  let count = 0

  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
    await plain.query(notesTable)
  })
  afterAll(() => plain.close())

  const notes = async () => (await plain.query('select note from application_notes order by note')).map(row => row.note)
  const named = (work: (tx: any, workflow: any) => Promise<unknown>) => {
    const name = `${database.name} ${++count}`
    works.set(name, work)
    return { input: { work: name } }
  }
  const finished = (wf: WorkflowHandle<any> | null) => wf?.waitUntilFinished({ timeout: '10s' })

  describe.each(Object.entries(libraries[database.name]))('%s', (_name, open) => {
    let application: Application
    let geneva: Geneva

    beforeAll(async () => {
      await plain.query('delete from application_notes')
      application = await open(under.url)
      const transactions = ((run: any) => application.transaction(run)) as OpenTransaction
      geneva = under.another({ workflows, transactions })
      await geneva.startWorker({ ...quickly, concurrency: 2 })
    })
    afterAll(async () => {
      await geneva.close()
      await application.close()
    })

    it('commits its writes with its outcome, and undoes them when it throws', async () => {
      let fails = true
      const wf = await geneva.start(
        Noting,
        named(async tx => {
          await application.note(tx, `written ${fails}`)
          if (fails) throw new Error('not yet')
        }),
      )
      await waitFor(async () => (await wf.refresh()).state === 'paused')
      expect(await notes()).toEqual([])
      fails = false
      await wf.resume()
      expect(await finished(wf)).toBe(oddText)
      expect(await notes()).toEqual(['written false'])
      expect((await geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    })

    it('commits an item with its cursor', async () => {
      await plain.query('delete from application_notes')
      let fails = true
      const wf = await geneva.start(
        Copying,
        named(async (tx, { item }) => {
          await application.note(tx, `item ${item}`)
          if (item === 2 && fails) throw new Error('not yet')
        }),
      )
      await waitFor(async () => (await wf.refresh()).state === 'paused')
      expect(await notes()).toEqual(['item 1'])
      fails = false
      await wf.resume()
      await finished(wf)
      expect(await notes()).toEqual(['item 1', 'item 2', 'item 3'])
    })

    it('leaves its cursor as it was', async () => {
      const cursors: unknown[] = []
      const wf = await geneva.start(
        Going,
        named(async (tx, { item }) => {
          await application.note(tx, item)
          const [execution] = await wf.currentExecutions()
          cursors.push(execution?.progress?.cursor)
        }),
      )
      await finished(wf)
      expect(cursors).toEqual([null, { at: places[0] }, { at: places[1] }])
    })
  })

  const serverOnly = database.name === 'sqlite' ? () => {} : describe
  serverOnly('that keeps to the state which it saw first', () => {
    it.each(['repeatable read', 'serializable'])(
      'under %s, does not miss what a sibling did meanwhile',
      async level => {
        const [driver] = plainDrivers[database.name]
        const transactions = async (run: any) => {
          const connection = await driver?.connect(under.url)
          if (database.name === 'mysql') await connection?.query(`set transaction isolation level ${level}`)
          await connection?.query('start transaction')
          if (database.name === 'postgres') await connection?.query(`set transaction isolation level ${level}`)
          const ends = { commit: () => connection?.query('commit'), rollback: () => connection?.query('rollback') }
          return committed(() => run(connection?.handle), ends).finally(() => connection?.close())
        }
        const geneva = under.another({ workflows, transactions: transactions as OpenTransaction })
        let calls = 0
        let end = () => {}
        besideEnds = new Promise(resolve => {
          end = resolve
        })
        const wf = await geneva.start(
          Noting,
          named(async tx => {
            calls++
            await tx.query('select count(*) as count from application_notes')
            end()
            await waitFor(async () =>
              (await wf.history()).some(({ step, state }) => step === 'beside' && state === 'completed'),
            )
          }),
        )
        await geneva.startWorker({ ...quickly, concurrency: 2 })
        expect(await finished(wf)).toBe(oddText)
        expect((await geneva.doctor({ workflow: wf.id })).findings).toEqual([])
        // PostgreSQL does not let it write over what it cannot see, so it is run again; MariaDB shows what is new to whoever locks it.
        expect(calls).toBe(database.name === 'postgres' ? 2 : 1)
        await geneva.close()
      },
    )
  })

  describe('whose answer to the commit is lost', () => {
    const [[, open] = []] = Object.entries(libraries[database.name])
    let application: Application
    beforeAll(async () => {
      await plain.query('delete from application_notes')
      application = (await open?.(under.url)) as Application
    })
    afterAll(() => application.close())

    const reset = () =>
      Object.assign(new Error('the line is dead'), { code: 'ECONNRESET', syscall: 'read', errcode: 10 })
    const run = async (transactions: unknown, note: string) => {
      const geneva = under.another({ workflows, transactions: transactions as OpenTransaction })
      let calls = 0
      const wf = await geneva.start(
        Noting,
        named(async tx => {
          calls++
          await application.note(tx, note)
        }),
      )
      await geneva.startWorker({ ...quickly, concurrency: 1 })
      expect(await finished(wf)).toBe(oddText)
      await geneva.close()
      return calls
    }

    it('is not run again when it was committed', async () => {
      const lossy = async (work: any) => {
        await application.transaction(work)
        throw reset()
      }
      expect(await run(lossy, 'committed')).toBe(1)
      expect(await notes()).toEqual(['committed'])
    })

    it('is run again when it was not', async () => {
      await plain.query('delete from application_notes')
      let tries = 0
      const lossy = (work: any) =>
        application.transaction(async tx => {
          const result = await work(tx)
          if (++tries === 1) throw reset()
          return result
        })
      expect(await run(lossy, 'twice called')).toBe(2)
      expect(await notes()).toEqual(['twice called'])
    })
  })

  describe('whose answer to the commit is lost, as listeners hear of it', () => {
    const [[, open] = []] = Object.entries(libraries[database.name])
    let application: Application
    beforeAll(async () => {
      application = (await open?.(under.url)) as Application
    })
    afterAll(() => application.close())

    const dead = () =>
      Object.assign(new Error('the line is dead'), { code: 'ECONNRESET', syscall: 'read', errcode: 10 })
    /** What is heard of the step that writes, once its end was. */
    const heardOf = async (transactions: unknown, work: (tx: any, workflow: any) => Promise<unknown>) => {
      const geneva = under.another({ workflows, transactions: transactions as OpenTransaction })
      const heard: string[] = []
      const stop = geneva.on('*', event => void ('step' in event && event.step === 'write' && heard.push(event.type)))
      const wf = await geneva.start(Noting, named(work))
      await geneva.startWorker({ ...quickly, concurrency: 1 })
      expect(await finished(wf)).toBe(oddText)
      await waitFor(() => heard.at(-1) === 'step.completed')
      stop()
      await geneva.close()
      return heard
    }

    it('is not told when it has come to nothing, and the claim is another’s', async () => {
      let commits = 0
      const lossy = async (work: any) => {
        const transacted = application.transaction(async tx => {
          const result = await work(tx)
          if (++commits === 1) throw dead()
          return result
        })
        return transacted.catch(async error => {
          await plain.query(`update geneva_drive_active_executions set fence = fence + 1 where node = 'write'`)
          throw error
        })
      }
      expect(await heardOf(lossy, async () => {})).toEqual([
        'step.started',
        'step.failed',
        'step.scheduled',
        'step.started',
        'step.completed',
      ])
    })

    it('is told when the step was postponed by it', async () => {
      let [commits, calls] = [0, 0]
      const lossy = async (work: any) => {
        const result = await application.transaction(work)
        if (++commits === 1) throw dead()
        return result
      }
      const postponing = async (_tx: any, workflow: any) => {
        if (++calls === 1) workflow.postpone(1)
      }
      expect(await heardOf(lossy, postponing)).toEqual([
        'step.started',
        'step.released',
        'step.started',
        'step.completed',
      ])
    })
  })

  describe('whose function tries again by itself', () => {
    const [[, open] = []] = Object.entries(libraries[database.name])
    let application: Application
    beforeAll(async () => {
      application = (await open?.(under.url)) as Application
    })
    afterAll(() => application.close())
    beforeEach(() => plain.query('delete from application_notes'))

    /** As each driver says it. */
    const conflict = () =>
      Object.assign(new Error('try again'), { code: '40001', errno: 1213, sqlState: '40001', errcode: 5 })
    const patient = (once: (work: any) => Promise<unknown>) => async (work: any) => {
      for (let tries = 1; ; tries++) {
        try {
          return await once(work)
        } catch (error) {
          if (tries === 3 || !['40001', 'ECONNRESET'].includes((error as { code: string }).code)) throw error
        }
      }
    }
    /** The second commit comes to nothing. */
    const refusing = () => {
      let commits = 0
      return patient(work =>
        application.transaction(async tx => {
          const result = await work(tx)
          if (++commits === 2) throw conflict()
          return result
        }),
      )
    }
    /** The second commit comes through, and nobody hears of it. */
    const losing = () => {
      let commits = 0
      return patient(async work => {
        const result = await application.transaction(work)
        if (++commits === 2) throw Object.assign(new Error('the line is dead'), { code: 'ECONNRESET', syscall: 'read' })
        return result
      })
    }
    const run = async (transactions: unknown, started: readonly (typeof Noting | typeof Copying)[]) => {
      const geneva = under.another({ workflows, transactions: transactions as OpenTransaction })
      let calls = 0
      await geneva.startWorker({ ...quickly, concurrency: 1 })
      for (const [index, type] of started.entries()) {
        const wf = await geneva.start(
          type as typeof Noting,
          named(async (tx, { item = index + 1 }) => {
            calls++
            await application.note(tx, `item ${item}`)
          }),
        )
        await finished(wf)
      }
      await geneva.close()
      return calls
    }
    const [two, three] = [
      ['item 1', 'item 2'],
      ['item 1', 'item 2', 'item 3'],
    ]

    it('does not lose the writes of the step when the commit was refused', async () => {
      expect(await run(refusing(), [Noting, Noting])).toBe(3)
      expect(await notes()).toEqual(two)
    })

    it('does not write twice when the commit of a step has happened after all', async () => {
      expect(await run(losing(), [Noting, Noting])).toBe(2)
      expect(await notes()).toEqual(two)
    })

    it('does not lose the writes of an item when the commit was refused', async () => {
      expect(await run(refusing(), [Copying])).toBe(4)
      expect(await notes()).toEqual(three)
    })

    it('does not write twice when the commit of an item has happened after all', async () => {
      expect(await run(losing(), [Copying])).toBe(3)
      expect(await notes()).toEqual(three)
    })

    it('calls the code of a step that throws once', async () => {
      let calls = 0
      const everything = async (work: any) => {
        const once = () => application.transaction(work)
        return once().catch(once)
      }
      const geneva = under.another({ workflows, transactions: everything as unknown as OpenTransaction })
      await geneva.startWorker({ ...quickly, concurrency: 1 })
      const wf = await geneva.start(
        Copying,
        named(async () => {
          calls++
          throw new Error('no such account')
        }),
      )
      await waitFor(async () => (await wf.refresh()).state === 'paused')
      expect(calls).toBe(1)
      expect((await wf.history())[0]?.error).toMatchObject({ message: 'no such account' })
      await geneva.close()
    })
  })
})
