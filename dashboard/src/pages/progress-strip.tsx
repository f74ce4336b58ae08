/** The resumable steps that are under way, each with how far it has come and how long it will take. */
import { useGraph } from '../api/queries.ts'
import { ProgressBar } from '../ui/progress-bar.tsx'

const underWay = ['in_progress', 'suspended', 'paused', 'scheduled']

export function ProgressStrip({ id }: { readonly id: string }) {
  const { data } = useGraph(id, null)
  const nodes = (data?.nodes ?? []).filter(({ progress, state }) => progress !== null && underWay.includes(state ?? ''))
  if (nodes.length === 0) return null
  return (
    <ul className="progress-strip">
      {nodes.map(
        ({ id: node, name, progress }) =>
          progress && (
            <li key={node}>
              <strong>{name}</strong> <ProgressBar {...progress} label={`Progress of ${name}`} />
            </li>
          ),
      )}
    </ul>
  )
}
