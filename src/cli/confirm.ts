/** Asks before something that cannot be taken back. Where nobody can answer, `--yes` has to say it. */
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { answerIsNo, WrongUsage } from './exit-codes.ts'
import { note } from './terminal.ts'

interface Answered {
  readonly yes?: boolean
  readonly json?: boolean
}

interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly output: NodeJS.WritableStream
}

/** Whoever leaves by Ctrl-C or Ctrl-D has not said yes. */
export async function confirmed(question: string, { yes, json }: Answered, terminal?: Terminal): Promise<boolean> {
  if (yes) return true
  // To standard error: what is on standard output may be read by a program.
  const { input, output } = terminal ?? { input: process.stdin, output: process.stderr }
  if (json || input.isTTY !== true) {
    throw new WrongUsage(`${question} Nobody can be asked here: say --yes, or --dry-run to see what would happen.`)
  }
  const lines = createInterface({ input, output })
  const left = once(lines, 'close').then(() => null)
  try {
    // Node rejects, or never answers, when the question is left: what counts is that nobody has answered.
    const answer = await Promise.race([lines.question(`${question} [y/N] `).catch(() => null), left])
    if (answer === null) output.write('\n')
    return answer !== null && /^y(es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}

export function saidNo(): void {
  note('Nothing was changed.')
  process.exitCode = answerIsNo
}
