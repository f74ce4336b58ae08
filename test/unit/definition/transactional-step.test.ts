/** Declaring transactional steps: what they compile to, and what is refused. */
import { describe, expect, it } from 'vitest'
import { buildGraph } from '../../../src/definition/build-graph.ts'
import { definitionOf } from '../../../src/definition/compile.ts'
import { defaultGraphLimits } from '../../../src/definition/graph-limits.ts'
import { defineJob, type Transaction, Workflow } from '../../../src/index.ts'

const inTransaction = defineJob('inTransaction', { transaction: true }, async () => {})

describe('a transactional step', () => {
  it('is a step of the graph like any other, so that a deploy may make one of it', () => {
    class Before extends Workflow {
      static {
        this.named('Shop')
        this.step('sell')
      }
      async sell() {}
    }
    class After extends Workflow {
      static {
        this.named('Shop')
        this.transactionalStep('sell')
      }
      async sell(_tx: Transaction) {}
    }
    expect(definitionOf(After).signature).toBe(definitionOf(Before).signature)
    expect(definitionOf(After).nodes[0]).toMatchObject({ kind: 'step', transactional: true })
    expect(definitionOf(Before).nodes[0]).toMatchObject({ transactional: false })
  })

  it('may be run again, so it cannot be one that is called once', () => {
    const declare = (options: object) => () =>
      class extends Workflow {
        static {
          this.transactionalStep('sell', options as never)
        }
        async sell(_tx: Transaction) {}
        async undo() {}
      }
    expect(declare({ idempotent: false })).toThrow('it cannot have `idempotent: false`')
    expect(declare({ compensate: { step: 'undo', transaction: true, idempotent: false } })).toThrow('idempotent: false')
    expect(declare({ compensate: { step: 'undo', transaction: 1 } })).toThrow('`transaction` must be true or false')
  })

  it('is resumable or has a transaction, not both', () => {
    expect(
      () =>
        class extends Workflow {
          static {
            this.task('sell', { resumable: true, transaction: true } as never)
          }
          async sell(_tx: Transaction) {}
        },
    ).toThrow('not both')
  })
})

describe('a job with a transaction', () => {
  it('may be run again, so no node calls it once', () => {
    const build = (options: object) => () =>
      buildGraph(w => w.node('one', { args: {}, ...options } as never), defaultGraphLimits)
    expect(build({ job: inTransaction, idempotent: false })).toThrow('may be run again')
    const plain = defineJob('plain', async () => {})
    expect(build({ job: plain, compensate: { job: inTransaction, idempotent: false } })).toThrow('may be run again')
  })

  it('says so with true or false', () => {
    expect(() => defineJob('odd', { transaction: 'yes' as never }, async () => {})).toThrow('must be true or false')
  })
})
