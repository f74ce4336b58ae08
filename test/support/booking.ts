/** A saga that fails, and cannot be undone. */
import { Workflow } from '../../src/index.ts'

export class Booking extends Workflow {
  static {
    this.step('seat', { compensate: { step: 'free', retry: 1 } })
    this.step('board', { onException: 'rollback' })
  }
  seat() {}
  free() {
    throw new Error('the seat is stuck')
  }
  board() {
    throw new Error('no plane')
  }
}
