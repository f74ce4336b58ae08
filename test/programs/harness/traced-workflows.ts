/** Workflows whose steps begin spans of their own, for tests of what crosses from one process to another. */
import * as api from '@opentelemetry/api'
import { Workflow } from '../../../src/index.ts'

/** Which process a step has run in, as a span inside it says. */
export function spanInside(name: string): void {
  api.trace
    .getTracer('application')
    .startSpan(name, { attributes: { pid: process.pid } })
    .end()
}

export class Relay extends Workflow {
  static {
    this.named('relay')
    this.step('first')
    this.step('second', { retry: { attempts: 3, backoff: 'fixed', delay: 0 } })
    this.step('last', { wait: '2 days' })
  }
  async first() {
    await Promise.resolve()
    spanInside('inside first')
  }
  second() {
    spanInside('inside second')
    if (this.execution.attempt < 2) throw new TypeError('not yet')
  }
  async last() {}
}
