/** Every question the dashboard asks, as a query with its key. Pages use these and never build an address themselves. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { get, type Query } from './request.ts'
import type * as api from './types.ts'

/** A change is told by the stream; this is for when the stream is cut off, and for what falls due by time alone. */
const refetchInterval = 15_000

export function useMe() {
  return useQuery({ queryKey: ['me'], queryFn: () => get<api.Me>('me'), staleTime: 60_000, meta: { still: true } })
}

/** Whether the person's role is enough for something. Nobody is asked to do what would be refused. */
export function useMay(needed: api.Role): boolean {
  const role = useMe().data?.role ?? 'reader'
  return ranks[role] >= ranks[needed]
}

const ranks: Readonly<Record<api.Role, number>> = { reader: 1, operator: 2, admin: 3 }

export function useOverview() {
  return useQuery({ queryKey: ['overview'], queryFn: () => get<api.Overview>('overview'), refetchInterval: 5000 })
}

export function useWorkflows(filter: Query, cursor: string | null, limit: number) {
  return useQuery({
    queryKey: ['workflows', filter, cursor, limit],
    queryFn: () => get<api.WorkflowPage>('workflows', { ...filter, cursor, limit }),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
}

export function useWorkflowCount(filter: Query) {
  return useQuery({
    queryKey: ['workflow-count', filter],
    queryFn: () => get<{ count: number; capped: boolean }>('workflows/count', filter),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
}

export function useWorkflow(id: string) {
  return useQuery({
    queryKey: ['workflow', id],
    queryFn: () => get<api.WorkflowDetail>(`workflows/${encodeURIComponent(id)}`),
    refetchInterval,
  })
}

export function useGraph(id: string, expand: string | null) {
  return useQuery({
    queryKey: ['workflow', id, 'graph', expand],
    queryFn: () => get<api.GraphView>(`workflows/${encodeURIComponent(id)}/graph`, { expand }),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
}

export function useHistory(id: string, cursor: string | null) {
  return useQuery({
    queryKey: ['workflow', id, 'history', cursor],
    queryFn: () => get<api.Page<api.Attempt>>(`workflows/${encodeURIComponent(id)}/history`, { cursor, limit: 100 }),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
}

export function useNodeHistory(id: string, node: string) {
  return useQuery({
    queryKey: ['workflow', id, 'history-of', node],
    queryFn: () => get<api.Page<api.Attempt>>(`workflows/${encodeURIComponent(id)}/history`, { node, limit: 20 }),
    refetchInterval,
  })
}

export type EventOrder = 'newest' | 'oldest'

export function useEvents(id: string, order: EventOrder, cursor: string | null) {
  const place = order === 'newest' ? { before: cursor } : { after: cursor }
  return useQuery({
    queryKey: ['workflow', id, 'events', order, cursor],
    queryFn: () =>
      get<api.Page<api.WorkflowEvent>>(`workflows/${encodeURIComponent(id)}/events`, { order, ...place, limit: 100 }),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
}

export function useExplanation(id: string) {
  return useQuery({
    queryKey: ['workflow', id, 'explain'],
    queryFn: () => get<api.Explanation>(`workflows/${encodeURIComponent(id)}/explain`, { open: 20 }),
    refetchInterval,
  })
}

export function useRollback(id: string) {
  return useQuery({
    queryKey: ['workflow', id, 'rollback'],
    queryFn: () => get<{ steps: readonly api.RollbackStep[] }>(`workflows/${encodeURIComponent(id)}/rollback`),
  })
}

export function useHero(type: string, id: string) {
  return useQuery({
    queryKey: ['hero', type, id],
    queryFn: () => get<api.HeroView>(`heroes/${encodeURIComponent(type)}/${encodeURIComponent(id)}`),
    refetchInterval,
  })
}

export function useApprovals(cursor: string | null) {
  return useQuery({
    queryKey: ['approvals', cursor],
    queryFn: () => get<api.Page<api.Approval>>('approvals', { cursor, limit: 10 }),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
}

export function useDeadLetters(state: string, cursor: string | null) {
  return useQuery({
    queryKey: ['dead-letters', state, cursor],
    queryFn: () => get<api.Page<api.DeadLetter>>('dead-letters', { state, cursor, limit: 50 }),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
}

export function useDeadLetter(id: string) {
  return useQuery({
    queryKey: ['dead-letter', id],
    queryFn: () => get<api.DeadLetterDetail>(`dead-letters/${encodeURIComponent(id)}`),
  })
}

export function useSchedules() {
  return useQuery({
    queryKey: ['schedules'],
    queryFn: () => get<api.Items<api.Schedule>>('schedules'),
    refetchInterval,
  })
}

export function useQueues() {
  return useQuery({ queryKey: ['queues'], queryFn: () => get<api.Items<api.Queue>>('queues'), refetchInterval })
}

export function useRequests(about: 'queue' | 'schedule' | null, cursor: string | null) {
  return useQuery({
    queryKey: ['requests', about, cursor],
    queryFn: () => get<api.Page<api.OperatorRequest>>('requests', { about, cursor, limit: 10 }),
    placeholderData: keepPreviousData,
    refetchInterval,
  })
}

export function useWorkers() {
  return useQuery({
    queryKey: ['workers'],
    queryFn: () => get<api.Items<api.WorkerStatus>>('workers'),
    refetchInterval,
  })
}

export function useDefinitions() {
  return useQuery({
    queryKey: ['definitions'],
    queryFn: () => get<api.Items<api.Definition>>('definitions'),
    staleTime: 60_000,
    meta: { still: true },
  })
}

export function useDefinition(type: string) {
  return useQuery({
    queryKey: ['definition', type],
    queryFn: () => get<api.DefinitionDetail>(`definitions/${encodeURIComponent(type)}`),
    staleTime: 60_000,
    meta: { still: true },
  })
}
