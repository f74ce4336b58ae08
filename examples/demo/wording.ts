/** How dates, lengths of time and steps are written in the terminal. */
import { styleText } from 'node:util'
import type { Execution } from '../../src/index.ts'

type Style = Parameters<typeof styleText>[0]

/** Asks the terminal, which also knows about NO_COLOR and FORCE_COLOR. A file or a pipe gets plain text. */
const colored = process.stdout.isTTY && process.stdout.hasColors()

export function styled(style: Style, text: string): string {
  return colored ? styleText(style, text) : text
}

const dateFormat = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: '2-digit',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})

/** `Tue 17 Nov 09:30`, in UTC. */
export function dateText(date: Date): string {
  return dateFormat.format(date).replaceAll(',', '')
}

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const

/** In the largest unit that fits, rounded: `2 days`, `30 minutes`. */
export function spanText(ms: number): string {
  const [unit, size] = units.find(([, length]) => ms >= length * 0.99) ?? units[3]
  const count = Math.round(ms / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

/** A mark for each state, so that colour is never the only sign. */
export function marked(step: string, execution: Execution | undefined): string {
  const name = execution && execution.attempt > 1 ? `${step} ×${execution.attempt}` : step
  switch (execution?.state) {
    case undefined:
      return styled('dim', `· ${name}`)
    case 'completed':
      return styled('green', `✓ ${name}`)
    case 'skipped':
      return styled('dim', `– ${name}`)
    case 'in_progress':
      return styled('cyan', `▶ ${name}`)
    case 'scheduled':
    case 'suspended':
    case 'waiting':
    case 'paused':
      return styled('yellow', `⏳ ${name}`)
    case 'compensating':
    case 'rolled_back':
      return styled('magenta', `↩ ${name}`)
    case 'failed':
    case 'canceled':
      return styled('red', `✗ ${name}`)
  }
}
