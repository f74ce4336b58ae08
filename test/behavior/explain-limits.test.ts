/** What `explain` says of workflows that a limit or a paused queue keeps. */
import { afterEach, expect, it } from 'vitest'
import { Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

let release: (() => void)[] = []
const hold = () => new Promise<void>(resolve => release.push(resolve))

class Mail extends Workflow {
  static {
    this.jobOptions({ queue: 'mail' })
    this.step('send')
  }
  send() {
    return hold()
  }
}

class Import extends Workflow<null, { tenant: string }> {
  static {
    this.jobOptions({ concurrency: 10, perKey: { key: wf => wf.input.tenant, concurrency: 1 } })
    this.step('load')
  }
  load() {
    return hold()
  }
}

class Call extends Workflow {
  static {
    this.jobOptions({ queue: 'calls' })
    this.step('dial')
  }
  dial() {}
}

forEachDatabase('explain', database => {
  const under = useGeneva(database, {
    workflows: [Mail, Import, Call],
    queues: { mail: { concurrency: 1 }, calls: { rate: { limit: 1, per: '1 min' } } },
    worker: true,
  })
  afterEach(() => {
    for (const go of release) go()
    release = []
  })

  it('names the limit of a queue and the step that holds its place', async () => {
    const first = await under.geneva.start(Mail)
    await waitFor(async () => (await first.refresh()).state === 'performing')
    const second = await under.geneva.start(Mail)
    const { sentence, nodes, decision } = await second.explain()
    expect(sentence).toBe(`Step send is due, but queue mail lets only 1 run at once: workflow ${first.id} (send).`)
    expect(decision).toBe('has_ready_steps')
    expect(nodes).toMatchObject([
      {
        ready: false,
        reasons: [
          {
            kind: 'limit',
            of: 'queue',
            name: 'mail',
            key: null,
            most: 1,
            running: 1,
            perMs: null,
            holders: [{ workflowId: first.id, node: 'send', worker: expect.any(String), since: expect.any(Date) }],
          },
        ],
      },
    ])
    for (const go of release) go()
    await waitFor(async () => (await second.refresh()).state === 'performing')
    expect((await second.explain()).sentence).toMatch(/^Step send is run by worker/)
  })

  it('names the key whose limit is reached', async () => {
    const first = await under.geneva.start(Import, { input: { tenant: 'acme' } })
    await waitFor(async () => (await first.refresh()).state === 'performing')
    const second = await under.geneva.start(Import, { input: { tenant: 'acme' } })
    const other = await under.geneva.start(Import, { input: { tenant: 'beta' } })
    await waitFor(async () => (await other.refresh()).state === 'performing')
    expect((await second.explain()).sentence).toBe(
      `Step load is due, but class Import, for key acme, lets only 1 run at once: workflow ${first.id} (load).`,
    )
  })

  it('says when the next may begin under a rate', async () => {
    const first = await under.geneva.start(Call)
    await first.waitUntilFinished({ timeout: '10s' })
    const second = await under.geneva.start(Call)
    const { sentence, nodes } = await second.explain()
    expect(sentence).toMatch(
      /^Step dial is due, but queue calls lets only 1 begin in 1 minute, and the next may at .* UTC\.$/,
    )
    const [began] = await first.history()
    const [reason] = nodes[0]?.reasons ?? []
    const until = reason?.kind === 'limit' ? reason.until?.getTime() : 0
    expect(until).toBe((began?.startedAt?.getTime() ?? 0) + 60_000)
  })

  it('says that a queue is paused, by whom and why', async () => {
    const queues = under.geneva.queues
    await queues.limit('calls', {})
    await queues.pause('calls', { by: 'ann', reason: 'no line' })
    const wf = await under.geneva.start(Call)
    const { sentence, nodes } = await wf.explain()
    expect(sentence).toMatch(/^Step dial is due, but queue calls was paused at .* UTC by ann: no line\.$/)
    expect(nodes[0]?.reasons).toMatchObject([{ kind: 'queue_paused', queue: 'calls', by: 'ann', reason: 'no line' }])
    await queues.resume('calls')
    await wf.waitUntilFinished({ timeout: '10s' })
  })
})
