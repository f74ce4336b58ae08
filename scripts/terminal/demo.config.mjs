/** The application of the terminal recording: an order saga with a person in it, a payout that is given up, a nightly sweep. */
import { defineSchedule, Geneva, Workflow } from 'geneva-drive'

class Order extends Workflow {
  static {
    this.allowMultiple()
    this.step('reserve', { compensate: 'release' })
    this.step('charge', { compensate: 'refund' })
    this.human('approve', { prompt: 'Ship it?', assignTo: 'logistics' })
    this.waitFor('delivered')
  }
  reserve() {
    return { shelf: 'A7' }
  }
  release() {}
  charge() {
    if (this.input.card === 'empty') throw new RangeError('the card was declined')
    return { paid: this.input.cents }
  }
  refund() {}
  approve() {}
  delivered({ payload }) {
    return payload
  }
}

class Payout extends Workflow {
  static {
    this.step('transfer', { onException: 'dlq' })
  }
  transfer() {
    const { account } = this.execution.input ?? this.input
    if (account !== 'NL01') throw new TypeError(`no such account: ${account}`)
    return { account }
  }
}

class Import extends Workflow {
  static {
    this.resumableStep('rows', { yieldEvery: 50 })
  }
  async rows(iter) {
    iter.progress({ total: 400 })
    for await (const _row of iter.over(Array.from({ length: 400 }, (_, index) => index))) {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

class Sweep extends Workflow {
  static {
    this.step('sweep')
  }
  sweep() {}
}

export const geneva = new Geneva({
  database: 'sqlite:geneva.db',
  workflows: [Order, Payout, Import, Sweep],
  schedules: [defineSchedule('nightly', { workflow: Sweep, cron: '0 3 * * *' })],
  onError: () => {},
})
