/** Everything here must compile: jobs, graphs that are built at run time, and the types they yield. */
import { z } from 'zod'
import { buildGraph } from '../../src/definition/build-graph.ts'
import type { GraphBuilder } from '../../src/definition/graph-builder.ts'
import { defineJob, type Job } from '../../src/definition/job.ts'
import { JobRegistry } from '../../src/definition/job-registry.ts'
import type { FanOut, NodeHandle } from '../../src/definition/node-handle.ts'
import { defineTemplate, expandTemplate } from '../../src/definition/template.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function expectType<_T extends true>(): void {}

declare function touch(text: string): Promise<void>
declare const mutations: { id: number }[]
interface Tree {
  readonly name: string
  readonly children: readonly Tree[]
}

export const processMutation = defineJob('processMutation', async (args: { mutationId: number }, job) => ({
  delta: args.mutationId,
  key: job.idempotencyKey,
}))
export const aggregate = defineJob(
  'aggregate',
  { args: z.object({ userId: z.string(), since: z.date().default(new Date(0)) }), retry: 3 },
  async ({ userId, since }, job) => {
    expectType<Equal<typeof since, Date>>()
    if (job.signal.aborted) job.pause('later')
    return { userId, total: 5 }
  },
)
export const report = defineJob('report', async (args: { summary: { total: number } }) => {
  await touch(`${args.summary.total}`)
})
export const sweep = defineJob(
  'sweep',
  { queue: 'nightly', onException: error => (error ? 'skip' : 'pause') },
  () => true,
)
export const optional = defineJob('optional', (args: { flag?: boolean; at?: Date | null }) => args.at ?? new Date())
export const sums = defineJob('sums', (args: { of: { delta: number }[]; by: Map<string, number>; tree: Tree }) => {
  return args.of.length
})
export const anything = defineJob('anything', (args: any) => args.x as string)
const steering = defineJob('steering', async (_args, job) => {
  const first = await job.output<{ total: number }>('aggregate')
  const maybe = await job.output<number>('sums', null)
  expectType<Equal<typeof maybe, number | null>>()
  if (first.total > 5) return job.cancel('too much')
  return maybe ?? job.reattempt({ wait: '5 min' })
})

expectType<Equal<typeof processMutation, Job<{ mutationId: number }, { delta: number; key: string }>>>()
expectType<
  Equal<typeof aggregate, Job<{ userId: string; since?: Date | undefined }, { userId: string; total: number }>>
>()
expectType<Equal<typeof sweep, Job<Record<string, never>, boolean>>>()
expectType<Equal<typeof steering, Job<Record<string, never>, number>>>()

buildGraph(w => {
  const all = w.fanOut(mutations, {
    name: m => `mutation_${m.id}`,
    job: processMutation,
    args: m => ({ mutationId: m.id }),
    dependsOn: null,
    retry: 3,
  })
  expectType<Equal<typeof all, FanOut<{ delta: number; key: string }>>>()
  const sum = w.node('aggregate', { job: aggregate, args: { userId: 'u1' }, dependsOn: all })
  expectType<Equal<typeof sum, NodeHandle<{ userId: string; total: number }>>>()
  w.node('report', { job: report, args: { summary: sum.output }, dependsOn: [sum] })

  const swept = w.node('swept', { job: sweep })
  w.node('with no arguments', { job: sweep, args: {} })
  w.node('with none of its optional ones', { job: optional })
  const at = w.node('with references', { job: optional, args: { flag: swept.output, at: null } })
  w.node('and once more', { job: optional, args: { at: at.output }, wait: '1 hour', metadata: { owner: 'data' } })
  const count = w.node('sums', {
    job: sums,
    args: { of: all.outputs, by: new Map([['a', 1]]), tree: { name: 'a', children: [] } },
    onException: { policy: 'reattempt', wait: '1 min', limit: 3, then: 'cancel' },
  })
  w.node('more sums', {
    job: sums,
    args: {
      of: [{ delta: 1 }, { delta: count.output }, ...all.map(node => node.output)],
      by: new Map([['a', count.output]]),
      tree: { name: 'a', children: [{ name: 'b', children: [] }] },
    },
    dependsOn: ['sums', all, sum],
    onException: 'skip',
    retry: { attempts: 3, backoff: 'linear', delay: '1s', jitter: false },
  })
  const any = w.node('anything', { job: anything, args: { x: sum.output, y: 5 } })
  w.node('of anything', { job: aggregate, args: { userId: any.output } })
  w.fanOut(new Set(['a', 'b']), { name: (item, index) => `${item}${index}`, job: sweep })
})

/** A plain function over the builder is a template without a name. */
function pair(w: GraphBuilder, name: string): NodeHandle<boolean> {
  w.node(`${name} first`, { job: sweep, dependsOn: null })
  return w.node(`${name} second`, { job: sweep })
}
buildGraph(w => void w.node('both', { job: sweep, dependsOn: [pair(w, 'a'), pair(w, 'b')] }))

export const monthly = defineTemplate('monthly', (w, { days }: { days: number }) => {
  w.fanOut(Array(days).keys(), { name: day => `day_${day}`, job: sweep })
})
expandTemplate(monthly, { days: 30 })
new JobRegistry([processMutation, aggregate, report, sweep, optional, sums, anything, steering], [monthly])
