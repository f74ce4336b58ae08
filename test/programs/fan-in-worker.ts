/**
 * A worker process for fan-ins: told by its one argument what to do. Its parents stand at a barrier until the test lets
 * their wave go, in all processes at once.
 */
import { Geneva } from '../../src/index.ts'
import { Batcher } from '../../src/primitives/batcher.ts'
import type { CrashWorkerConfig } from './crash-worker.ts'
import { Diamond, fanInJobs, surroundFanIns } from './harness/fan-in-graphs.ts'
import { type Call, writeEntries } from './harness/journal.ts'
import { openAccess } from './harness/plain-access.ts'

const config: CrashWorkerConfig = JSON.parse(process.argv[2] ?? '')
const tell = (message: object) => void (process.connected && process.send?.(message))
// The test may be gone before us; then there is nobody left to tell.
process.on('error', () => {})

class Barrier {
  #released = 0
  #wave = 0
  #waiting: (() => void)[] = []
  #told = true

  pass(wave: number): Promise<void> {
    if (wave <= this.#released) return Promise.resolve()
    return new Promise(resolve => {
      this.#wave = wave
      this.#waiting.push(resolve)
      this.#tellSoon()
    })
  }

  release(wave: number): void {
    this.#released = wave
    for (const go of this.#waiting.splice(0)) go()
  }

  #tellSoon(): void {
    if (!this.#told) return
    this.#told = false
    setImmediate(() => {
      this.#told = true
      tell({ waiting: this.#waiting.length, wave: this.#wave })
    })
  }
}

const barrier = new Barrier()
process.on('message', ({ released }: { released: number }) => barrier.release(released))
const access = await openAccess(config.url)
const journal = new Batcher<Call, void>({
  maxGroup: 200,
  write: async calls => {
    await writeEntries(access, calls)
    return calls.map(() => undefined)
  },
})
surroundFanIns({ begin: call => journal.add(call), passBarrier: wave => barrier.pass(wave) })
const geneva = new Geneva({
  database: config.url,
  workflows: [Diamond],
  jobs: fanInJobs,
  onError: (error, context) => tell({ error: String(error), step: context?.step ?? null }),
})
await geneva.migrate()
const working = geneva.work(config.options)
tell({ ready: process.pid })
await working
await access.close()
// From here on nothing of ours keeps the process alive, if the engine keeps nothing either.
process.channel?.unref()
