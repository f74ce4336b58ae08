/**
 * A worker process whose only step holds the thread: no timer and no answer of the database gets through until a file is
 * there. Its argument is the address of the database.
 */
import { existsSync } from 'node:fs'
import { Geneva, Workflow } from '../../src/index.ts'

export const hogQueue = 'hogs'

export class Hog extends Workflow<null, { stop: string }> {
  static {
    this.jobOptions({ queue: hogQueue })
    this.step('hold')
  }
  async hold() {
    const { stop } = this.input
    // The message is on its way before the thread is held.
    await new Promise(resolve => process.send?.({ hogging: this.id }, resolve))
    const nap = new Int32Array(new SharedArrayBuffer(4))
    while (!existsSync(stop)) Atomics.wait(nap, 0, 0, 20)
  }
}

const [, , url] = process.argv
if (url?.includes(':') && process.send) {
  process.on('error', () => {})
  const geneva = new Geneva({ database: url, workflows: [Hog], onError: () => {} })
  await geneva.work({ queues: [hogQueue], lease: '2 min', poll: 20 })
  process.channel?.unref()
}
