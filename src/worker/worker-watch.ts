/** What a worker tells those who watch it, besides the events that it writes. Without a watcher nothing is put together. */
import type { ClaimedExecution } from '../store/records.ts'

export type WorkerNotice =
  /** `resident`: it works until it is stopped, not just until nothing is due. */
  | {
      readonly kind: 'started'
      readonly workerId: string
      readonly resident: boolean
      /** How many steps it runs right now. */
      readonly running: () => number
    }
  | { readonly kind: 'stopped'; readonly workerId: string; readonly resident: boolean; readonly running: () => number }
  /** It was silent for too long. What it held belongs to others, and it goes on under another id. */
  | { readonly kind: 'lease lost'; readonly workerId: string; readonly nextId: string }
  /** What a step came to was not recorded, because it belongs to somebody else by now. */
  | { readonly kind: 'claim lost'; readonly workerId: string; readonly claimed: ClaimedExecution }
  /** Work is due that no worker which is alive has code for. */
  | { readonly kind: 'unserved'; readonly workerId: string; readonly queue: string; readonly handler: string }

export interface WorkerWatch {
  /** Whether work that nobody can run is to be looked for. It takes a statement now and then. */
  readonly looksForUnserved: boolean
  /** Never throws. */
  tell(notice: WorkerNotice): void
}
