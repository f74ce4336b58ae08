/**
 * Looks again and again: on a terminal the screen is redrawn in place and restored at the end, elsewhere a JSON document is
 * printed whenever it has changed. Ctrl-C, `q` and a closed pipe end it in good order.
 */
import { describeTime } from '../primitives/describe-time.ts'
import { pauseFor } from '../primitives/pause-for.ts'
import { printJson, say, styled } from './terminal.ts'

/** What one look has found. */
export interface Look {
  /** For people. */
  readonly lines: readonly string[]
  /** For programs. */
  readonly json: unknown
  /** Nothing will change any more. */
  readonly isLast: boolean
}

interface WatchOptions {
  readonly json: boolean
  readonly everyMs: number
}

const enter = '\x1b[?1049h\x1b[?25l'
const leave = '\x1b[?25h\x1b[?1049l'

export async function watchScreen(look: () => Promise<Look>, options: WatchOptions): Promise<void> {
  const stop = new AbortController()
  const release = stopOnRequest(() => stop.abort())
  const onScreen = !options.json && process.stdout.isTTY === true
  if (onScreen) process.stdout.write(enter)
  let shown: Look | null = null
  try {
    shown = await lookUntil(stop.signal, look, { ...options, onScreen })
  } finally {
    release()
    if (onScreen) process.stdout.write(leave)
  }
  if (onScreen && shown !== null) say(shown.lines.join('\n'))
}

async function lookUntil(
  signal: AbortSignal,
  look: () => Promise<Look>,
  { json, everyMs, onScreen }: WatchOptions & { readonly onScreen: boolean },
): Promise<Look | null> {
  let told = ''
  let last: Look | null = null
  while (!signal.aborted) {
    last = await look()
    const text = json ? JSON.stringify(last.json) : last.lines.join('\n')
    if (onScreen) draw(last.lines)
    else if (text !== told) {
      if (json) printJson(last.json)
      else say(`${text}\n`)
    }
    told = text
    if (last.isLast) break
    await pauseFor(everyMs, signal)
  }
  return last
}

/** Each line is overwritten and what is left of the old one wiped, so that nothing flickers. The last row says how to leave. */
function draw(lines: readonly string[]): void {
  const rows = process.stdout.rows || 24
  const room = rows - 2
  const hidden = lines.length - room
  const visible = hidden > 0 ? lines.slice(0, room) : lines
  const more = hidden > 0 ? `${hidden} more lines, ` : ''
  const body = visible.map(line => `${line}\x1b[K`).join('\n')
  const foot = styled('dim', `${describeTime(new Date())}, ${more}q ends it`)
  process.stdout.write(`\x1b[H${body}\x1b[J\x1b[${rows};1H${foot}\x1b[K`)
}

function stopOnRequest(stop: () => void): () => void {
  const onKey = (key: Buffer) => {
    // Ctrl-C does not come as a signal while keys are read one by one.
    if (key.toString() === 'q' || key[0] === 3) stop()
  }
  const { stdin, stdout } = process
  const readsKeys = stdin.isTTY === true && stdout.isTTY === true
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
  stdout.on('error', stop)
  if (readsKeys) stdin.setRawMode(true).on('data', onKey).resume()
  return () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop)
    stdout.off('error', stop)
    if (readsKeys) stdin.setRawMode(false).off('data', onKey).pause()
  }
}
