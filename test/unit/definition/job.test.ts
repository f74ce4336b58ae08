/** Jobs: what they are made of, and which mistakes are found when they are defined or registered. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineJob, isJob, validateArgs } from '../../../src/definition/job.ts'
import { JobRegistry } from '../../../src/definition/job-registry.ts'
import { defineTemplate } from '../../../src/definition/template.ts'
import { isGenevaError } from '../../../src/errors.ts'
import { thrownBy } from './sample-graphs.ts'

describe('a job', () => {
  it('is a frozen value with a name and its code', () => {
    const body = async (args: { id: number }) => args.id
    const job = defineJob('process', body)
    expect(job).toMatchObject({ name: 'process', argsSchema: null, queue: null, priority: null, retry: null })
    expect(job.body).toBe(body)
    expect(Object.isFrozen(job)).toBe(true)
    expect(isJob(job)).toBe(true)
  })

  it('keeps its options', () => {
    const args = z.object({ id: z.number() })
    const options = { args, queue: 'imports', priority: 5, retry: { attempts: 2 }, metadata: { team: 'data' } }
    expect(defineJob('process', options, ({ id }) => id)).toMatchObject({
      argsSchema: args,
      queue: 'imports',
      priority: 5,
      retry: { attempts: 2 },
      metadata: { team: 'data' },
    })
  })

  it('tries its exception rules like a step does: the most specific error first', () => {
    const { onException } = defineJob(
      'process',
      {
        onException: [
          [Error, 'skip'],
          [TypeError, { policy: 'reattempt', wait: '1 min' }],
        ],
      },
      () => 1,
    )
    expect(onException.map(rule => rule.errorClass)).toEqual([TypeError, Error])
    expect(onException[0]?.policy).toMatchObject({ action: 'reattempt', waitMs: 60_000 })
  })

  it('is told from things that look like one', () => {
    expect([null, undefined, 'process', () => 1, { ...defineJob('process', () => 1) }].map(isJob)).not.toContain(true)
  })

  const body = () => 1
  const mistakes: [string, unknown[], string][] = [
    ['a name that is no text', [5, body], 'is a number'],
    ['an empty name', ['', body], 'is empty'],
    ['a name that leaves no room for what handlers begin with', ['x'.repeat(188), body], 'longer than 187'],
    ['a name with NUL', ['a\0', body], 'NUL'],
    ['no body', ['process'], '(name, options, body)'],
    ['a body that is no function', ['process', {}, {}], '(name, options, body)'],
    ['an argument too many', ['process', {}, body, body], '(name, options, body)'],
    ['options that are no object', ['process', [], body], 'must be an object'],
    ['an unknown option', ['process', { quue: 'x' }, body], 'no option quue'],
    ['a schema that is none', ['process', { args: {} }, body], 'Standard Schema'],
    ['a queue that is no name', ['process', { queue: '' }, body], 'queue name is empty'],
    ['a priority out of range', ['process', { priority: 101 }, body], 'from 0 to 100'],
    ['a retry that is none', ['process', { retry: 'often' }, body], 'number of attempts'],
    ['a policy that does not exist', ['process', { onException: 'explode' }, body], '"explode"'],
    ['metadata that is no object', ['process', { metadata: 'x' }, body], 'metadata must be an object'],
  ]
  it.each(mistakes)('with %s is refused', (_what, given, message) => {
    const error = thrownBy(() => (defineJob as (...given: unknown[]) => unknown)(...given))
    expect(isGenevaError(error, 'DEFINITION')).toBe(true)
    expect(error.message).toContain(message)
  })
})

describe('the arguments of a job', () => {
  it('are what its schema yields', async () => {
    const job = defineJob('page', { args: z.object({ size: z.number().default(50) }) }, ({ size }) => size)
    expect(await validateArgs(job, {}, 'first page')).toEqual({ size: 50 })
  })

  it('are checked by schemas that take their time as well', async () => {
    const job = defineJob('page', { args: z.object({ size: z.number().refine(async size => size > 0) }) }, () => 1)
    expect(await validateArgs(job, { size: 1 }, 'x')).toEqual({ size: 1 })
    await expect(validateArgs(job, { size: 0 }, 'x')).rejects.toMatchObject({ code: 'ARGS_INVALID' })
  })

  it('that do not fit are refused with what is wrong where', async () => {
    const job = defineJob('page', { args: z.object({ range: z.object({ size: z.number() }) }) }, () => 1)
    await expect(validateArgs(job, { range: { size: 'ten' } }, 'first page')).rejects.toMatchObject({
      code: 'ARGS_INVALID',
      issues: [{ path: 'range.size' }],
      message: expect.stringMatching(/node first page .* job page .* range\.size: /),
    })
  })

  it('are passed on as they are where there is no schema', async () => {
    const args = { size: 'ten' }
    expect(
      await validateArgs(
        defineJob('page', () => 1),
        args,
        'x',
      ),
    ).toBe(args)
  })
})

describe('a registry of jobs', () => {
  const job = defineJob('process', () => 1)
  const template = defineTemplate('report', () => {})

  it('finds jobs and templates by name', () => {
    const registry = new JobRegistry([job], [template])
    expect(registry.find('process')).toBe(job)
    expect(registry.find('report')).toBeNull()
    expect(registry.findTemplate('report')).toBe(template)
    expect(registry.findTemplate('process')).toBeNull()
    expect(registry.names).toEqual(['process'])
  })

  const mistakes: [string, unknown[], unknown[], string][] = [
    ['a job twice', [job, job], [], 'registered twice'],
    ['two jobs of one name', [job, defineJob('process', () => 2)], [], 'name of two'],
    ['something that is no job', [job, { name: 'other' }], [], 'jobs[1] is not what defineJob returned'],
    ['a template as a job', [template], [], 'jobs[0]'],
    ['nothing, as circular imports give', [undefined], [], 'imported in a circle'],
    ['two templates of one name', [], [template, defineTemplate('report', () => {})], 'The template "report"'],
    ['a job as a template', [], [job], 'templates[0] is not what defineTemplate returned'],
  ]
  it.each(mistakes)('refuses %s', (_what, jobs, templates, message) => {
    const error = thrownBy(() => new JobRegistry(jobs as never, templates as never))
    expect(isGenevaError(error, 'DEFINITION')).toBe(true)
    expect(error.message).toContain(message)
  })
})
