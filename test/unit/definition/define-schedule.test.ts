/** Schedules as code declares them: what is refused, before anything runs. */
import { expect, it } from 'vitest'
import { defineSchedule, Geneva, Workflow } from '../../../src/index.ts'

class Nightly extends Workflow {
  static {
    this.step('sweep')
  }
  sweep() {}
}

const options = { every: '1 hour', workflow: Nightly } as const

it('has its defaults, and a tag by which its workflows are found', () => {
  expect(defineSchedule('nightly', options)).toMatchObject({
    name: 'nightly',
    catchUp: 'latest',
    overlap: 'allow',
    tags: ['schedule:nightly'],
  })
})

it.each([
  ['', options, 'the name of a schedule is empty'],
  ['x'.repeat(101), options, 'longer than 100 letters'],
  ['x', { ...options, crno: '1' }, 'there is no option crno'],
  ['x', { ...options, workflow: 'Nightly' }, '`workflow` must be a workflow class'],
  ['x', { ...options, start: 5 }, '`start` is { hero, input }'],
  ['x', { ...options, catchUp: 'some' }, '`catchUp` must be one of all, latest, none'],
  ['x', { ...options, overlap: 'wait' }, '`overlap` must be one of allow, skip'],
  ['x', { workflow: Nightly }, 'schedule x needs either `cron` or `every`'],
  ['x', { workflow: Nightly, cron: '61 * * * *' }, '"61" is no minute'],
  ['x', { workflow: Nightly, cron: '* * * * *', timeZone: 'Mars' }, 'The time zone "Mars" is not known'],
  ['x', null, 'the options must be an object'],
])('refuses %s %o', (name, given, message) => {
  expect(() => defineSchedule(name, given as never)).toThrow(message)
})

it('a Geneva refuses two of one name, classes that it does not know, and what is no schedule', () => {
  const nightly = defineSchedule('nightly', options)
  const open = (schedules: unknown, workflows = [Nightly]) =>
    new Geneva({ database: 'sqlite:none.db', workflows, schedules: schedules as never })
  expect(() => open([nightly, nightly])).toThrow('Two schedules are called "nightly"')
  expect(() => open([nightly], [])).toThrow('Nightly')
  expect(() => open([{ name: 'x' }])).toThrow('what `defineSchedule(name, ...)` returns')
  expect(() => open(nightly)).toThrow('must be an array')
})
