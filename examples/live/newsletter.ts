/** A fan-out: one execution for each of a thousand readers, twenty at a time, and one step when all are done. */
import { setTimeout as pass } from 'node:timers/promises'
import { Workflow } from '../../src/index.ts'

export class Newsletter extends Workflow<null, { readers: number }> {
  static {
    this.step('write')
    this.each('send', { items: wf => Array.from({ length: wf.input.readers }, (_, at) => at + 1), concurrency: 20 })
    this.step('report')
  }

  async write() {
    await pass(500)
    return { subject: 'What is new' }
  }

  async send(reader: number) {
    await pass(300 + ((reader * 37) % 900))
    return { reader }
  }

  async report() {
    return { sent: (await this.output(this.send)).length }
  }
}
