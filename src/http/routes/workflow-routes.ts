/** Looking at workflows: lists, one of them, its graph, history, events, and why it waits. */
import { z } from 'zod'
import { drawn, undone } from '../command-documents.ts'
import * as ask from '../request-schemas.ts'
import { type Route, route } from '../route.ts'
import { allows } from '../security.ts'
import * as wire from '../wire-schemas.ts'
import { given, viewOptionsFrom } from '../wire-values.ts'

const one = { resource: 'workflow::id', role: 'reader', method: 'GET' } as const

/** Of ten thousand nodes a page wants those that somebody can still do something about. */
const over = ['done', 'left_out', 'ended']

export const workflowRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/workflows',
    action: 'workflow.list',
    resource: '*',
    role: 'reader',
    summary:
      'Workflows that fit, newest first. A page may be short before the last one. capped: a search does not reach all of them.',
    query: ask.workflowQuery,
    answer: wire.workflowPage,
    run: ({ geneva, query: { limit, cursor, ...filter } }) =>
      geneva.views.workflows({ ...viewOptionsFrom(filter), ...given({ limit, cursor }) }),
  }),
  route({
    method: 'GET',
    path: '/workflows/count',
    action: 'workflow.list',
    resource: '*',
    role: 'reader',
    summary: 'How many workflows fit, up to 10,000, or as far as a search reaches.',
    query: ask.workflowFilter,
    answer: z.strictObject({ count: z.number().int(), capped: z.boolean() }),
    run: ({ geneva, query }) => geneva.views.count(viewOptionsFrom(query)),
  }),
  route({
    ...one,
    path: '/workflows/:id',
    action: 'workflow.read',
    summary: 'One workflow with its input and output, its family, and what may be asked of it.',
    answer: wire.workflowDetail,
    run: async ({ geneva, params: { id = '' }, role }) => {
      const { actions, ...detail } = await geneva.views.workflow(id)
      const needed = (action: string) => (action === 'abort' ? 'admin' : 'operator')
      return { ...detail, actions: actions.filter(action => allows(role, needed(action))) }
    },
  }),
  route({
    ...one,
    path: '/workflows/:id/graph',
    action: 'workflow.read',
    summary:
      'Its graph with the states of its nodes. Siblings that only differ in their names are one box, unless expanded.',
    query: ask.graphQuery,
    answer: wire.graph,
    run: async ({ geneva, params: { id = '' }, query, role }) => {
      const graph = await geneva.views.graph(id, given(query))
      if (allows(role, 'operator')) return graph
      return { ...graph, nodes: graph.nodes.map(node => ({ ...node, actions: [] })) }
    },
  }),
  route({
    ...one,
    path: '/workflows/:id/history',
    action: 'workflow.read',
    summary: 'Every attempt with its error, payloads and cursor, oldest first.',
    query: ask.historyQuery,
    answer: wire.page(wire.attempt),
    run: ({ geneva, params: { id = '' }, query }) => geneva.views.history(id, given(query)),
  }),
  route({
    ...one,
    path: '/workflows/:id/events',
    action: 'workflow.read',
    summary: 'Its events, oldest first after a position, or newest first before one.',
    query: ask.eventsQuery,
    answer: wire.page(wire.event),
    run: ({ geneva, params: { id = '' }, query }) => geneva.views.eventsOf(id, given(query)),
  }),
  route({
    ...one,
    path: '/workflows/:id/explain',
    action: 'workflow.read',
    summary: 'What it waits for, in a sentence and node by node; with `open`, so many nodes that are not over.',
    query: ask.explainQuery,
    answer: wire.explanation,
    run: async ({ geneva, params: { id = '' }, query: { open } }) => {
      const explanation = await geneva.explain(id)
      if (open === undefined) return explanation
      const waits = explanation.nodes.filter(({ reasons }) => reasons.some(({ kind }) => !over.includes(kind)))
      return { ...explanation, nodes: waits.slice(0, open) }
    },
  }),
  route({
    ...one,
    path: '/workflows/:id/rollback',
    action: 'workflow.read',
    summary: 'What a cancel, or a failure now, would undo, in order.',
    query: ask.rollbackQuery,
    answer: undone,
    run: async ({ geneva, params: { id = '' }, query }) => ({ steps: await geneva.previewRollback(id, query.kind) }),
  }),
  route({
    ...one,
    path: '/workflows/:id/drawing',
    action: 'workflow.read',
    summary: 'A drawing of its graph: as text for a terminal, as Mermaid, DOT or SVG.',
    query: ask.drawingQuery,
    answer: drawn,
    run: async ({ geneva, params: { id = '' }, query: { format = 'text', foldAt } }) => ({
      format,
      drawing: await geneva.draw(id, { format, ...given({ foldAt }) }),
    }),
  }),
  route({
    method: 'GET',
    path: '/heroes/:type/:id',
    action: 'hero.read',
    resource: 'hero::type/:id',
    role: 'reader',
    summary: 'Everything that ever happened to a record: its workflows and their newest events.',
    query: ask.pageQuery,
    answer: wire.heroPage,
    run: ({ geneva, params: { type = '', id = '' }, query }) => geneva.views.hero({ type, id }, given(query)),
  }),
]
