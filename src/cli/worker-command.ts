/** `geneva worker`: this process works until it is told to stop. The code is the application's; nothing else is imported. */
import { AppCommand, type Shared, wholeNumber, withApp } from './app-command.ts'
import { spanOf } from './filter-options.ts'
import { note, printJson } from './terminal.ts'

interface Flags extends Shared {
  readonly queue?: string[]
  readonly concurrency?: number
  readonly poll?: string
  readonly grace?: string
  readonly once?: boolean
}

export function workerCommand(): AppCommand {
  return new AppCommand('worker', {
    description: 'run the steps of workflows that are due, until SIGTERM or Ctrl-C',
    examples: [
      ['worker', 'the code of geneva.config.*'],
      ['worker ./dist/geneva.js --queue mail --concurrency 20', 'one queue only'],
      ['worker --once', 'work off what is due and end: for cron'],
    ],
    more: 'Start as many as you like, on as many hosts. Running steps are given time to end.',
  })
    .option('--queue <name...>', 'only these queues (default: all)')
    .option('--concurrency <count>', 'how many executions at once', wholeNumber(100_000))
    .option('--poll <duration>', 'how long an idle worker waits before it looks again')
    .option('--grace <duration>', 'how long running steps may go on after the stop')
    .option('--once', 'work off what is due now, then end')
    .locating(true)
    .action(work)
}

async function work(flags: Flags): Promise<void> {
  const { queue, concurrency, poll, grace } = flags
  const options = {
    ...(queue === undefined ? {} : { queues: queue }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(poll === undefined ? {} : { poll: spanOf(poll, '--poll') }),
    ...(grace === undefined ? {} : { grace: spanOf(grace, '--grace') }),
  }
  await withApp(flags, async geneva => {
    if (flags.once) {
      const executions = await geneva.runDue(options)
      if (flags.json) printJson({ executions })
      else note(`${executions} ${executions === 1 ? 'execution' : 'executions'} done.`)
      return
    }
    await geneva.migrate()
    note('Working. Ctrl-C stops it: running steps may end first.')
    await geneva.work(options)
    note('Stopped in good order.')
  })
}
