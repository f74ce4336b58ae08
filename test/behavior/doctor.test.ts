/** The doctor: sound workflows are sound, and whatever was changed behind the engine's back is named. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Child, type DoctorFinding, Workflow } from '../../src/index.ts'
import { forEachDatabase } from '../support/databases.ts'
import { connectPlainly, type PlainConnection } from '../support/plain-sql.ts'
import { useGeneva } from '../support/use-geneva.ts'

class Pair extends Workflow {
  static {
    this.step('left', { wait: '1 day' })
    this.step('right')
  }
  left() {}
  right() {}
}

class Join extends Workflow {
  static {
    this.task('fast')
    this.task('slow', { wait: '1 day' })
    this.task('other', { wait: '1 day' })
    this.task('joined', { dependsOn: ['fast', 'slow', 'other'] })
    this.task('apart', { wait: '1 day' })
  }
  fast() {}
  slow() {}
  other() {}
  joined() {}
  apart() {}
}

class Quick extends Workflow {
  static {
    this.step('first')
    this.step('second')
  }
  first() {}
  second() {}
}

class Doomed extends Workflow {
  static {
    this.task('fails', { onException: 'dlq' })
    this.task('apart', { wait: '1 day' })
  }
  fails() {
    throw new Error('no')
  }
  apart() {}
}

class Parent extends Workflow {
  static {
    this.child('wait', { workflow: () => Pair, start: () => ({}) })
  }
  async wait(child: Child<Pair>) {
    return child.result()
  }
}

forEachDatabase('the doctor', database => {
  const under = useGeneva(database, { workflows: [Pair, Join, Quick, Doomed, Parent] })
  let plain: PlainConnection

  beforeAll(async () => {
    plain = await connectPlainly(database.name, under.url)
  })
  afterAll(() => plain.close())

  const update = (table: string, change: string, id: string, more = '') =>
    plain.query(
      `update geneva_drive_${table} set ${change} where ${table === 'workflows' ? 'id' : 'workflow_id'} = ${id}${more}`,
    )

  const remove = (table: string, id: string, more = '') =>
    plain.query(`delete from geneva_drive_${table} where workflow_id = ${id}${more}`)

  const problems = async (workflow: string) => {
    const { findings } = await under.geneva.doctor({ workflow })
    expect(findings.every(finding => finding.workflowId === workflow && finding.remedy !== '')).toBe(true)
    return findings.map((finding: DoctorFinding) => `${finding.kind}: ${finding.problem}`)
  }

  const started = async <W extends typeof Pair | typeof Join | typeof Quick | typeof Doomed | typeof Parent>(
    workflow: W,
  ) => {
    const { id } = await under.geneva.start(workflow as never)
    await under.runDue()
    return id as string
  }

  it('finds nothing wrong with workflows that wait, have ended, were paused or canceled', async () => {
    for (const workflow of [Pair, Join, Quick, Parent]) await started(workflow)
    const paused = await started(Join)
    await under.geneva.pause(paused)
    await under.geneva.cancel(await started(Parent))
    await under.runDue()
    await under.geneva.skip(await started(Join), 'slow')
    await started(Doomed)
    const handled = await started(Doomed)
    const [letter] = await under.geneva.deadLetters({ workflowId: handled })
    await under.geneva.discard(letter?.id ?? '', { then: 'skip', by: 'ann' })
    const report = await under.geneva.doctor()
    expect(report).toEqual({ ok: true, findings: [], omitted: 0, workflows: 11 })
    expect(await under.geneva.doctor({ active: true, limit: 2 })).toMatchObject({ ok: true, workflows: 2 })
  })

  it('names a state that the events do not lead to', async () => {
    const ended = await started(Quick)
    await update('workflows', `state = 'canceled'`, ended)
    expect(await problems(ended)).toEqual(['state: It is stored as canceled, but its events lead to finished.'])
    const waiting = await started(Pair)
    await update('workflows', `state = 'finished'`, waiting)
    expect(await problems(waiting)).toEqual([
      'state: It is stored as finished, but its events lead to ready.',
      'rule: The workflow is finished, but step left has a row that is scheduled.',
    ])
  })

  it('names rows that were changed, removed or added', async () => {
    const changed = await started(Quick)
    await update('step_executions', 'attempt = 3', changed, ` and node = 'second'`)
    expect(await problems(changed)).toEqual([
      expect.stringMatching(/execution: .* is attempt 3 at second, but its events tell of attempt 1 at second/),
      'ancestry: Step second attempt 3: Attempt 2, which must have come before it, is missing.',
    ])
    const failed = await started(Quick)
    await update('step_executions', `state = 'failed', outcome = 'recovered'`, failed, ` and node = 'second'`)
    expect(await problems(failed)).toEqual([
      'execution: Step second attempt 1 stands in history as failed, recovered, but its events lead to completed.',
      'rule: The workflow is finished, but step second is failed (recovered).',
    ])
    const removed = await started(Quick)
    await remove('step_executions', removed, ` and node = 'second'`)
    expect(await problems(removed)).toEqual([
      'execution: Step second attempt 1 is completed by its events, but is missing from history.',
    ])
  })

  it('names a workflow that stands still for ever', async () => {
    const id = await started(Pair)
    await remove('active_executions', id)
    expect(await problems(id)).toEqual([
      'execution: Step left attempt 1 is scheduled by its events, but has no row.',
      'rule: The workflow is ready, but has no row that could go on: it stands still for ever.',
      'rule: Step left is due, but has no row.',
    ])
  })

  it('names rows that nobody can claim, that are held for nothing, and that belong to nobody', async () => {
    const lost = await started(Pair)
    await update('active_executions', 'sort_key = null', lost)
    expect(await problems(lost)).toEqual(['rule: Step left is scheduled, but a claim would never find it.'])
    const held = await started(Pair)
    await update('active_executions', `state = 'paused', sort_key = null`, held)
    expect(await problems(held)).toEqual([
      'execution: Step left attempt 1 has a row that is paused, but its events lead to scheduled.',
      'rule: The workflow is ready, but step left is paused.',
      'rule: The workflow is ready, but has no row that could go on: it stands still for ever.',
    ])
    const orphan = await started(Pair)
    await update('active_executions', `state = 'in_progress', sort_key = null, owner = 'nobody'`, orphan)
    expect(await problems(orphan)).toContainEqual(
      'rule: Step left is in progress, but its worker nobody does not exist: nobody will take it over.',
    )
  })

  it('names counters that do not count, and a child that will never wake its parent', async () => {
    const join = await started(Join)
    expect(await problems(join)).toEqual([])
    await plain.query(
      `update geneva_drive_fan_ins set open_parents = 1 where workflow_id = ${join} and node = 'joined'`,
    )
    expect(await problems(join)).toEqual([
      'counter: The counter of step joined says that 1 of its parents are open, but 2 are.',
    ])
    await remove('fan_ins', join)
    expect(await problems(join)).toEqual([
      'counter: The counter of step joined says that 3 of its parents are open, but 2 are.',
    ])
    const parent = await started(Parent)
    const [row] = await plain.query(`select id from geneva_drive_workflows where parent_id = ${parent}`)
    await update('workflows', `state = 'finished'`, String(row?.id))
    expect(await problems(parent)).toEqual([`rule: Step wait waits for workflow ${row?.id}, which is finished.`])
  })

  it('names dead letters that nobody opened, and those that are gone', async () => {
    const gone = await started(Doomed)
    expect(await problems(gone)).toEqual([])
    await remove('dead_letters', gone)
    expect(await problems(gone)).toEqual([
      'letter: A dead letter is open by its events, but not stored so.',
      'letter: It is stored with 1 open dead letters, but has 0.',
      'letter: The workflow is in the dlq, but no dead letter is open: nobody can requeue it.',
    ])
    const open = await started(Doomed)
    const [letter] = await under.geneva.deadLetters({ workflowId: open })
    await under.geneva.discard(letter?.id ?? '')
    await update('dead_letters', `state = 'open'`, open)
    expect(await problems(open)).toEqual([
      'letter: A dead letter is open, but its events do not say so.',
      'letter: It is stored with 0 open dead letters, but has 1.',
      'letter: The workflow is canceled, but the dead letter of step fails is open.',
    ])
  })

  it('names events that were removed', async () => {
    const none = await started(Quick)
    await remove('events', none)
    expect(await problems(none)).toEqual(['events: It has no events.'])
    const some = await started(Quick)
    await remove('events', some, ` and type = 'step.started' and node = 'first'`)
    expect(await problems(some)).toEqual([
      expect.stringMatching(
        /^events: Event \d+ \(step\.completed\) does not follow: .* was in_progress, which was scheduled\.$/,
      ),
    ])
  })

  it('says that a workflow does not exist', async () => {
    await expect(under.geneva.doctor({ workflow: '123456789' })).rejects.toMatchObject({ code: 'WORKFLOW_NOT_FOUND' })
  })
})
