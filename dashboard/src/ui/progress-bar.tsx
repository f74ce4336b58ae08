/** How far something has come. Without a total there is no bar, only the number. */
import { count, span } from './wording.ts'

interface Props {
  readonly done: number
  readonly total: number | null
  readonly label: string
  readonly etaMs?: number | null | undefined
}

export function ProgressBar({ done, total, label, etaMs }: Props) {
  if (total === null || total <= 0) return <span className="progress-text">{count(done)} done</span>
  const share = Math.min(1, done / total)
  const left = etaMs ? `, ${span(etaMs)} left` : ''
  return (
    <span className="progress">
      <progress max={total} value={Math.min(done, total)} aria-label={label} />
      <span className="progress-text">
        {count(done)} of {count(total)} ({Math.floor(share * 100)} %{left})
      </span>
    </span>
  )
}
