/** `geneva schedule`: what is started by the clock, and holding it up. Starting one now needs the code, the rest does not. */
import type { ScheduleStatus } from '../index.ts'
import { describeTime } from '../primitives/describe-time.ts'
import { AppCommand, type Asker, asked, asking, type Shared, whileLooking, withApp, withGeneva } from './app-command.ts'
import { printJson, say, styled, table } from './terminal.ts'

type Flags = Shared & Asker

export function scheduleCommand(): AppCommand {
  return new AppCommand('schedule', {
    description: 'list schedules, pause one, resume it, or start one now',
    examples: [
      ['schedule list', 'when each is due next'],
      ["schedule pause nightly --by ann --reason 'the import is broken'", 'no tick is started any more'],
      ['schedule trigger nightly', 'start one workflow now'],
    ],
  })
    .addCommand(listCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(triggerCommand())
}

function listCommand(): AppCommand {
  return new AppCommand('list', {
    description: 'every schedule that the database knows',
    examples: [['schedule list --json', 'for a program']],
  })
    .locating()
    .action((flags: Shared) =>
      whileLooking(flags, async ({ schedules }) => {
        const found = await schedules.list()
        if (flags.json) printJson({ items: found })
        else
          say(
            found.length === 0 ? 'No schedules. Declare them with `new Geneva({ schedules: [...] })`.' : textOf(found),
          )
      }),
    )
}

function pauseCommand(): AppCommand {
  const command = new AppCommand('pause', {
    description: 'start no tick of a schedule any more, in any process',
    examples: [['schedule pause nightly --by ann', 'until somebody resumes it']],
  })
  return asking(command.argument('<schedule>', 'its name'))
    .locating()
    .action((name: string, flags: Flags) =>
      withGeneva(flags, async ({ schedules }) => {
        await schedules.pause(name, asked(flags))
        tell(flags, await schedules.find(name))
      }),
    )
}

function resumeCommand(): AppCommand {
  const command = new AppCommand('resume', {
    description: 'go on with the first tick from now; those that fell into the pause are left out',
    examples: [['schedule resume nightly --by ann', 'goes on']],
  })
  return asking(command.argument('<schedule>', 'its name'))
    .locating()
    .action((name: string, flags: Flags) =>
      withGeneva(flags, async ({ schedules }) => {
        await schedules.resume(name, asked(flags))
        tell(flags, await schedules.find(name))
      }),
    )
}

function triggerCommand(): AppCommand {
  const command = new AppCommand('trigger', {
    description: 'start one workflow of a schedule now, also while it is paused',
    examples: [['schedule trigger nightly --by ann', 'its ticks stay as they are']],
  })
  return asking(command.argument('<schedule>', 'its name'))
    .locating(true)
    .action((name: string, flags: Flags) =>
      withApp(flags, async ({ schedules }) => {
        const { id, type } = await schedules.trigger(name, asked(flags))
        if (flags.json) printJson({ workflowId: id })
        else say(`Started ${type} ${id}.`)
      }),
    )
}

function tell(flags: Shared, status: ScheduleStatus | null): void {
  if (flags.json) printJson(status)
  else say(status === null ? 'It is gone.' : textOf([status]))
}

function textOf(schedules: readonly ScheduleStatus[]): string {
  return table(
    [
      { title: 'NAME', of: ({ name }) => name },
      { title: 'WORKFLOW', of: ({ workflow }) => workflow },
      { title: 'WHEN', of: whenOf },
      { title: 'NEXT', of: nextOf, paint: (text, { paused }) => (paused ? styled('yellow', text) : text) },
      { title: 'STARTED', of: ({ started }) => String(started), alignRight: true },
      { title: 'LAST PROBLEM', of: ({ lastError }) => lastError ?? '' },
    ],
    schedules,
  ).join('\n')
}

function whenOf({ cron, timeZone, everyMs }: ScheduleStatus): string {
  if (cron === null) return `every ${(everyMs ?? 0) / 1000} s`
  return timeZone === null ? cron : `${cron} (${timeZone})`
}

function nextOf({ nextAt, pausedBy, pauseReason }: ScheduleStatus): string {
  if (nextAt !== null) return describeTime(nextAt)
  return `paused${pausedBy === null ? '' : ` by ${pausedBy}`}${pauseReason === null ? '' : `: ${pauseReason}`}`
}
