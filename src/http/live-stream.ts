/**
 * Live updates: a stream of small hints on what to look at again, as server-sent events. All streams of a process share one
 * look at the database; a stream ends with its reader.
 */
import type { Views } from '../client/views/views.ts'
import { RequestProblem } from './request-problem.ts'

const heartbeatMs = 15_000
/** How many hints a reader may be behind before they are left out: one is enough to look again. */
const mostBehind = 100

export class LiveStreams {
  readonly #limit: number
  readonly #onChange: () => void
  #open = 0
  #stopListening = () => {}

  /** `onChange` is called before any stream is told of a change. */
  constructor(limit: number, onChange: () => void = () => {}) {
    this.#limit = limit
    this.#onChange = onChange
  }

  get size(): number {
    return this.#open
  }

  /** Of one workflow, or of everything. Throws 429 when too many are open. */
  open(views: Views, workflowId: string | null, signal: AbortSignal): ReadableStream<Uint8Array> {
    if (this.#open >= this.#limit) {
      throw new RequestProblem(429, 'TOO_MANY_STREAMS', `${this.#limit} streams are open already.`, 'Close one.')
    }
    if (this.#open++ === 0) this.#stopListening = views.watch(null, this.#onChange)
    const encoder = new TextEncoder()
    let end = () => {}
    return new ReadableStream<Uint8Array>(
      {
        start: controller => {
          const send = (text: string) => {
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text))
          }
          const heartbeat = setInterval(() => send(': still here\n\n'), heartbeatMs)
          heartbeat.unref()
          const stopWatching = views.watch(
            workflowId,
            change => send(`event: change\nid: ${change.position}\ndata: ${JSON.stringify(change)}\n\n`),
            () => end(),
          )
          end = once(() => {
            if (--this.#open === 0) this.#stopListening()
            clearInterval(heartbeat)
            stopWatching()
            signal.removeEventListener('abort', end)
            try {
              controller.close()
            } catch {
              // Its reader has closed it.
            }
          })
          signal.addEventListener('abort', end)
          send('retry: 3000\n: connected\n\n')
          if (signal.aborted) end()
        },
        cancel: () => end(),
      },
      { highWaterMark: mostBehind },
    )
  }
}

function once(work: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    work()
  }
}
