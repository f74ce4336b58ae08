/** Started by the clock, every half a minute. */
import { defineSchedule, Workflow } from '../../src/index.ts'
import { reserveItems } from '../services.ts'

export class Cleanup extends Workflow {
  static {
    this.jobOptions({ queue: 'upkeep' })
    this.step('sweep')
    this.step('compact')
  }

  async sweep() {
    return { removed: await reserveItems(['a', 'b']) }
  }

  async compact() {}
}

export const cleanupSchedule = defineSchedule('cleanup', { every: '30 s', workflow: Cleanup })
