/** Asks before something that cannot be taken back. Where nobody can answer, `--yes` has to say it. */
import { createInterface } from 'node:readline/promises'
import { answerIsNo, WrongUsage } from './exit-codes.ts'
import { note } from './terminal.ts'

interface Answered {
  readonly yes?: boolean
  readonly json?: boolean
}

/** The question goes to standard error: what is on standard output may be read by a program. */
export async function confirmed(question: string, { yes, json }: Answered): Promise<boolean> {
  if (yes) return true
  if (json || process.stdin.isTTY !== true) {
    throw new WrongUsage(`${question} Nobody can be asked here: say --yes, or --dry-run to see what would happen.`)
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim())
  } finally {
    lines.close()
  }
}

export function saidNo(): void {
  note('Nothing was changed.')
  process.exitCode = answerIsNo
}
