/** A resumable step that goes through many rows. It says how many there are, so that one can see how far it has come. */
import { setTimeout as pass } from 'node:timers/promises'
import { type Iteration, Workflow } from '../../src/index.ts'

export class BulkImport extends Workflow<null, { rows: number; msPerRow: number }> {
  static {
    this.step('download')
    this.resumableStep('rows')
    this.step('index')
  }

  async download() {
    await pass(800)
    return { file: 'customers.csv' }
  }

  async rows(iter: Iteration<number>) {
    iter.progress({ total: this.input.rows })
    for await (const _ of iter.over(Array.from({ length: this.input.rows }, (_, row) => row))) {
      await pass(this.input.msPerRow)
    }
    return { imported: iter.completedIterations }
  }

  async index() {
    return (await this.output(this.rows)).imported
  }
}
