/** Asks the server to do something, says what came of it, and lets everything on the page be read anew. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { post } from '../api/request.ts'
import { useTell } from '../ui/toasts.tsx'

export interface Deed {
  readonly path: string
  readonly body?: object
  /** What is told when it is done. */
  readonly done: string
}

export function useAction() {
  const client = useQueryClient()
  const tell = useTell()
  return useMutation({
    mutationFn: ({ path, body }: Deed) => post<unknown>(path, body),
    onSuccess: (_, { done }) => tell(done),
    // Not waited for: what was asked is done, and the page follows.
    onSettled: () => void client.invalidateQueries(),
  })
}
