/** Each marked line must fail to compile: jobs and graphs that are built at run time. The sentence says what is wrong. */
import { z } from 'zod'
import { buildGraph } from '../../src/definition/build-graph.ts'
import { defineJob } from '../../src/definition/job.ts'
import { defineTemplate, expandTemplate } from '../../src/definition/template.ts'
import { aggregate, monthly, optional, processMutation, report, sums, sweep } from './graphs.ts'

declare const mutations: { id: number }[]

// @ts-expect-error returns a value that cannot be stored: a function
defineJob('leaky', () => () => 1)
// @ts-expect-error returns a value that cannot be stored: a class instance with methods, nested
defineJob('leaky', { queue: 'x' }, async () => ({ rows: [/x/] }))
// @ts-expect-error arguments are named, so they come as an object
defineJob('numbered', (id: number) => id)
// @ts-expect-error a body that asks for something else than its schema yields
defineJob('mismatched', { args: z.object({ id: z.string() }) }, (args: { id: number }) => args.id)
// @ts-expect-error something that is no schema
defineJob('unchecked', { args: { id: 'string' } }, () => 1)
// @ts-expect-error an option that does not exist
defineJob('misspelled', { quue: 'x' }, () => 1)
// @ts-expect-error a policy that does not exist
defineJob('exploding', { onException: 'explode' }, () => 1)
// @ts-expect-error what a job may do is listed, and restarting is not there
defineJob('restarting', (_args, job) => job.restart())

buildGraph(w => {
  const sum = w.node('sum', { job: aggregate, args: { userId: 'u1' } })
  const swept = w.node('swept', { job: sweep })
  const all = w.fanOut(mutations, { name: m => `${m.id}`, job: processMutation, args: m => ({ mutationId: m.id }) })

  // @ts-expect-error the arguments are missing
  w.node('x', { job: processMutation })
  // @ts-expect-error an argument is missing
  w.node('x', { job: processMutation, args: {} })
  // @ts-expect-error an argument of another type
  w.node('x', { job: processMutation, args: { mutationId: '5' } })
  // @ts-expect-error an argument too many
  w.node('x', { job: processMutation, args: { mutationId: 5, more: 5 } })
  // @ts-expect-error arguments for a job that takes none
  w.node('x', { job: sweep, args: { force: true } })
  // @ts-expect-error an optional argument of another type
  w.node('x', { job: optional, args: { flag: 'yes' } })
  // @ts-expect-error an argument that the schema does not take
  w.node('x', { job: aggregate, args: { userId: 5 } })
  // @ts-expect-error an output of another type
  w.node('x', { job: processMutation, args: { mutationId: sum.output } })
  // @ts-expect-error an output of another type, nested
  w.node('x', { job: report, args: { summary: { total: swept.output } } })
  // @ts-expect-error one output where a list is wanted
  w.node('x', { job: sums, args: { of: sum.output, by: new Map(), tree: { name: '', children: [] } } })
  // @ts-expect-error a list of outputs where one is wanted
  w.node('x', { job: report, args: { summary: all.outputs } })
  // @ts-expect-error the node itself instead of its output
  w.node('x', { job: report, args: { summary: sum } })
  // @ts-expect-error a function cannot be stored
  w.node('x', { job: sweep, onException: () => 'skip' })
  // @ts-expect-error error classes cannot be stored
  w.node('x', { job: sweep, onException: [[TypeError, 'skip']] })
  // @ts-expect-error a policy that does not exist
  w.node('x', { job: sweep, onException: 'explode' })
  // @ts-expect-error a backoff function cannot be stored
  w.node('x', { job: sweep, retry: { backoff: () => 5 } })
  // @ts-expect-error a condition on errors cannot be stored
  w.node('x', { job: sweep, retry: { retryIf: () => true } })
  // @ts-expect-error a job is a value that defineJob returned
  w.node('x', { job: 'sweep' })
  // @ts-expect-error a function is no job
  w.node('x', { job: async () => 1 })
  // @ts-expect-error a job is needed
  w.node('x', { dependsOn: null })
  // @ts-expect-error something that cannot be depended on
  w.node('x', { job: sweep, dependsOn: 5 })
  // @ts-expect-error something that looks like a node
  w.node('x', { job: sweep, dependsOn: { id: 'n_1', name: 'a' } })
  // @ts-expect-error an output is not depended on; its node is
  w.node('x', { job: sweep, dependsOn: sum.output })
  // @ts-expect-error an option that does not exist
  w.node('x', { job: sweep, dependOn: 'sum' })
  // @ts-expect-error a duration with a unit that does not exist
  w.node('x', { job: sweep, wait: '2 fortnights' })

  // @ts-expect-error a field that the items do not have
  w.fanOut(mutations, { name: m => `${m.key}`, job: sweep })
  // @ts-expect-error the arguments are missing
  w.fanOut(mutations, { name: m => `${m.id}`, job: processMutation })
  // @ts-expect-error arguments of another type
  w.fanOut(mutations, { name: m => `${m.id}`, job: processMutation, args: m => ({ mutationId: `${m.id}` }) })
  // @ts-expect-error arguments are made from an item
  w.fanOut(mutations, { name: m => `${m.id}`, job: processMutation, args: { mutationId: 5 } })
  // @ts-expect-error each node needs a name
  w.fanOut(mutations, { job: sweep })
  // @ts-expect-error something that is no list
  w.fanOut(5, { name: () => 'x', job: sweep })
})

// @ts-expect-error the arguments of a template are missing
expandTemplate(monthly, {})
// @ts-expect-error an argument of another type
expandTemplate(monthly, { days: '30' })
// @ts-expect-error a template needs a function
defineTemplate('empty')
