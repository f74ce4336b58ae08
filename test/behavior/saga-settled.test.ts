/**
 * What sagas do where several answers were possible: after going back to an earlier step, when two people decide at once,
 * when a skip takes from a join what it needed, and for people who come in with an imported graph.
 */
import { beforeEach, expect, it } from 'vitest'
import {
  type Compensation,
  type Decision,
  defineJob,
  type GraphBuilder,
  isGenevaError,
  type Signal,
  Workflow,
  type WorkflowHandle,
} from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'

const calls: string[] = []
let version = 0

class Draft extends Workflow {
  static {
    this.named('settled draft')
    this.step('write', { compensate: 'shred' })
    this.step('proof', { compensate: 'unproof' })
    this.human('accept', { onReject: { backTo: 'write' } })
    this.step('print', { onException: 'rollback' })
  }
  async write() {
    return `version ${++version}`
  }
  async shred({ output }: Compensation<string>) {
    calls.push(`shred ${output}`)
  }
  async proof() {
    return `proof of ${await this.output(this.write)}`
  }
  async unproof({ output }: Compensation<string>) {
    calls.push(`unproof ${output}, written as ${await this.output(this.write)}`)
  }
  async accept(_: Decision) {}
  async print() {
    throw new Error('no paper')
  }
}

/** Each attempt at `charge` succeeds or not as the input says; it is tried twice in a round. */
class Payment extends Workflow<null, { charges: boolean[] }> {
  static {
    this.named('settled payment')
    this.step('prepare')
    this.fork(
      'settle',
      {
        a: b => b.step('charge', { compensate: 'refund', retry: { attempts: 2, backoff: 'fixed', delay: 0 } }),
        b: b => b.step('note'),
      },
      { join: 'settled' },
    )
    this.human('accept', { onReject: { backTo: 'prepare' } })
  }
  async prepare() {}
  async charge() {
    if (!this.input.charges[this.execution.attempt - 1]) throw new Error('no answer')
  }
  async refund(_: Compensation) {
    calls.push('refund')
  }
  async note() {}
  async accept(_: Decision) {}
}

const write = defineJob('settled write', async () => `version ${++version}`)
const proof = defineJob('settled proof', { onException: 'rollback' }, async ({ text }: { text: string }, job) => {
  if (job.node.name === 'print') throw new Error('no paper')
  return `proof of ${text}`
})
const undo = defineJob('settled undo', async (args: { text?: string }, job) => {
  calls.push(`${job.node.name}: ${args.text}, ${job.undo?.output}`)
})

function draftGraph(w: GraphBuilder): void {
  const written = w.node('write', { job: write })
  w.node('proof', { job: proof, args: { text: written.output }, compensate: undo })
  w.human('accept', { onReject: { backTo: written } })
  w.node('print', { job: proof, args: { text: written.output } })
}

const asks = [
  ['confirmed', 'confirmed'],
  ['rejected', 'confirmed'],
  ['rejected', 'rejected'],
] as const

class Asking extends Workflow<null, { onReject: 'abort' | 'rollback' }> {
  static {
    this.named('settled asking')
    this.step('prepare', { compensate: 'tidyUp' })
    this.human('abort')
  }
  async prepare() {}
  async tidyUp(_: Compensation) {}
  async abort(_: Decision) {}
}

class Undoing extends Workflow {
  static {
    this.named('settled undoing')
    this.step('prepare', { compensate: 'tidyUp' })
    this.human('agree', { onReject: 'rollback' })
  }
  async prepare() {}
  async tidyUp(_: Compensation) {}
  async agree(_: Decision) {}
}

type Policy = 'pause' | 'cancel' | 'rollback' | 'dlq'

/** Two branches fail, and a join of one would have done with the third. */
class Contest extends Workflow<null, { first: Policy; second: Policy }> {
  static {
    this.named('settled contest')
    this.step('enter', { compensate: 'leave' })
    this.fork(
      'run',
      {
        a: b => b.step('first', { onException: error => (error as PolicyError).policy }),
        b: b => b.step('second', { onException: error => (error as PolicyError).policy }),
        c: b => b.waitFor('third'),
      },
      { join: 'any' },
    )
    this.step('prize')
  }
  async enter() {}
  async leave(_: Compensation) {
    calls.push('leave')
  }
  async first() {
    throw new PolicyError(this.input.first)
  }
  async second() {
    throw new PolicyError(this.input.second)
  }
  async third(_: Signal) {}
  async prize() {
    calls.push('prize')
  }
}

class PolicyError extends Error {
  readonly policy: Policy
  constructor(policy: Policy) {
    super(policy)
    this.policy = policy
  }
}

class Paperwork extends Workflow {
  static {
    this.named('settled paperwork')
    this.step('scan', { onException: 'pause' })
    this.step('file')
  }
  async scan() {
    if (this.execution.attempt === 1) throw new Error('paper jam')
  }
  async file() {
    calls.push('file')
  }
}

forEachDatabase('it is settled that', database => {
  const workflows = [Draft, Payment, Asking, Undoing, Contest, Paperwork]
  const under = useGeneva(database, { workflows, jobs: [write, proof, undo] })
  const statesOf = async (wf: WorkflowHandle) =>
    (await wf.nodesWithState()).map(({ name, state, attempt }) => `${name} ${state} ${attempt}`)

  beforeEach(() => {
    calls.length = 0
    version = 0
  })

  it('a step of the stretch that was gone back over is pending again until its turn comes', async () => {
    const wf = await under.geneva.start(Draft)
    await under.runDue()
    await wf.decide('accept', { by: 'ann', decision: 'rejected' })
    expect(await statesOf(wf)).toEqual(['write scheduled 2', 'proof pending 1', 'accept pending 1', 'print pending 0'])
    const { nodes } = await under.geneva.views.graph(wf.id)
    expect(nodes.find(({ name }) => name === 'accept')?.state).toBe('pending')
    await under.runDue()
    expect(await statesOf(wf)).toEqual([
      'write completed 2',
      'proof completed 2',
      'accept waiting 2',
      'print pending 0',
    ])
    await wf.cancel()
    await under.runDue()
  })

  it.each(['class', 'graph'])('what each round has done is undone with what it was done with (%s)', async kind => {
    const { geneva } = under
    const wf: WorkflowHandle<any> =
      kind === 'class' ? await geneva.start(Draft) : await geneva.startGraph(geneva.build(draftGraph))
    await under.runDue()
    await wf.decide('accept', { by: 'ann', decision: 'rejected' })
    await under.runDue()
    await wf.decide('accept', { by: 'ann', decision: 'confirmed' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('failed')
    expect(calls).toEqual(
      kind === 'class'
        ? [
            'unproof proof of version 2, written as version 2',
            'shred version 2',
            'unproof proof of version 1, written as version 1',
            'shred version 1',
          ]
        : ['proof: version 2, proof of version 2', 'proof: version 1, proof of version 1'],
    )
    expect(await wf.verifyHistory()).toBeNull()
  })

  it.each([
    ['in its last attempt', [false, false, true], [3, 2]],
    ['in every attempt', [false, false, false, false], [4, 2]],
    ['in some, and not in its last', [false, true, false, true], [4, 2]],
  ])(
    'a call that failed in an earlier round may have happened, and is undone (it fails %s)',
    async (_, charges, undone) => {
      const wf = await under.geneva.start(Payment, { input: { charges } })
      await under.runDue()
      await wf.decide('accept', { by: 'ann', decision: 'rejected' })
      await under.runDue()
      const refunds = (await wf.previewRollback()).filter(({ compensation }) => compensation === 'refund')
      expect(refunds.map(({ attempt }) => attempt)).toEqual(undone)
      await wf.cancel()
      await under.runDue()
      expect((await wf.refresh()).state).toBe('canceled')
      expect(calls).toEqual(['refund', 'refund'])
      expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    },
  )

  it('of several rounds that failed each is undone once, by its last call', async () => {
    const wf = await under.geneva.start(Payment, { input: { charges: [false, false, false, false, false, true] } })
    for (const decision of ['rejected', 'rejected'] as const) {
      await under.runDue()
      await wf.decide('accept', { by: 'ann', decision })
    }
    await under.runDue()
    const refunds = (await wf.previewRollback()).filter(({ compensation }) => compensation === 'refund')
    expect(refunds.map(({ attempt }) => attempt)).toEqual([6, 4, 2])
    await wf.cancel()
    await under.runDue()
    expect(calls).toEqual(['refund', 'refund', 'refund'])
  })

  it.each(asks)('who decides second is told that it is decided, also when that has ended it (%s, %s)', async (a, b) => {
    for (const [workflow, step] of [
      [Asking, 'abort'],
      [Undoing, 'agree'],
    ] as const) {
      const wf = await (under.geneva.start as (...given: unknown[]) => Promise<WorkflowHandle>)(workflow, {
        input: { onReject: 'abort' },
      })
      await under.runDue()
      const [waiting] = await wf.currentExecutions()
      const answers = await Promise.allSettled([
        under.geneva.decide(waiting?.id ?? '', { by: 'ann', decision: a }),
        under.geneva.decide(waiting?.id ?? '', { by: 'bob', decision: b }),
      ])
      const refused = answers.flatMap(answer => (answer.status === 'rejected' ? answer.reason : []))
      expect(refused).toHaveLength(1)
      expect(isGenevaError(refused[0], 'ALREADY_DECIDED')).toBe(true)
      await under.runDue()
      // Late, by name and by id, when everything is over.
      const late = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ code: 'ALREADY_DECIDED' })
      await late(wf.decide(step, { by: 'cid', decision: 'confirmed' }))
      await late(under.geneva.decide(waiting?.id ?? '', { by: 'cid', decision: 'confirmed' }))
      expect(await wf.decisions()).toHaveLength(1)
    }
  })

  it('nobody has decided on what was canceled while it waited', async () => {
    const wf = await under.geneva.start(Undoing)
    await under.runDue()
    await wf.cancel()
    const late = wf.decide('agree', { by: 'ann', decision: 'confirmed' })
    await expect(late).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it.each([
    ['cancel', 'pause', 'canceled', ['leave']],
    ['pause', 'cancel', 'canceled', ['leave']],
    ['rollback', 'cancel', 'canceled', ['leave']],
    ['pause', 'rollback', 'failed', ['leave']],
    ['rollback', 'dlq', 'failed', ['leave']],
    ['pause', 'pause', 'paused', []],
    ['dlq', 'dlq', 'dlq', []],
    ['dlq', 'pause', 'dlq', []],
  ] as const)('a join lost by a skip obeys what goes furthest: %s and %s', async (first, second, state, undone) => {
    const wf = await under.geneva.start(Contest, { input: { first, second } })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('ready')
    await wf.skip('third')
    await under.runDue()
    expect((await wf.refresh()).state).toBe(state)
    expect(calls).toEqual(undone)
    expect((await under.geneva.doctor({ workflow: wf.id })).findings).toEqual([])
    if (state === 'paused' || state === 'dlq') await wf.cancel()
    await under.runDue()
  })

  it('people who come in with an imported graph of a class are asked, and what follows runs', async () => {
    const { geneva } = under
    const wf: WorkflowHandle<any> = await geneva.start(Paperwork)
    await under.runDue()
    await geneva.freeze(wf.id)
    const dag = await geneva.exportDag(wf.id)
    const [fileId, file] = Object.entries(dag.nodes).find(([, { name }]) => name === 'file') ?? []
    const [scanId] = Object.entries(dag.nodes).find(([, { name }]) => name === 'scan') ?? []
    const sign = { name: 'sign', kind: 'human', depends_on: [scanId], human: { quorum: 1, on_reject: 'abort' } }
    const nodes = { ...dag.nodes, sign, [fileId ?? '']: { ...file, depends_on: ['sign'] } }
    await geneva.importDag(JSON.stringify({ ...dag, nodes }), { into: wf.id })
    await wf.resume()
    await under.runDue()
    expect((await wf.currentExecutions()).map(({ step, state }) => [step, state])).toEqual([['sign', 'waiting']])
    await wf.decide('sign', { by: 'ann', decision: 'confirmed' })
    await under.runDue()
    expect((await wf.refresh()).state).toBe('finished')
    expect(calls).toEqual(['file'])
  })
})
