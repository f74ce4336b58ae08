/**
 * `geneva doctor`: compares what is stored with what the events say and with what must always be true. It changes nothing;
 * it fails when something is wrong.
 */
import type { DoctorFinding, DoctorReport } from '../index.ts'
import { AppCommand, type Shared, whileLooking, wholeNumber } from './app-command.ts'
import { answerIsNo } from './exit-codes.ts'
import { harmless, printJson, say } from './terminal.ts'

interface Options extends Shared {
  readonly workflow?: string
  readonly active?: boolean
  readonly limit?: number
}

export function doctorCommand(): AppCommand {
  return new AppCommand('doctor', {
    description: 'rebuild every workflow from its events and compare it with what is stored; changes nothing',
    examples: [
      ['doctor', 'all workflows'],
      ['doctor --active', 'only those that have not ended'],
      ['doctor --workflow 4711 --json', 'one of them'],
    ],
    more: 'Exit code 3: something is wrong.',
  })
    .option('--workflow <id>', 'look at this workflow only')
    .option('--active', 'look only at workflows that have not ended')
    .option('--limit <count>', 'look at so many workflows, the newest first', wholeNumber(Number.MAX_SAFE_INTEGER))
    .locating()
    .action(doctor)
}

async function doctor(options: Options): Promise<void> {
  const { workflow, active, limit } = options
  await whileLooking(options, async geneva => {
    const report = await geneva.doctor({
      ...(workflow === undefined ? {} : { workflow }),
      ...(active === undefined ? {} : { active }),
      ...(limit === undefined ? {} : { limit }),
    })
    if (options.json) printJson(report)
    else say(harmless(textOf(report)))
    if (!report.ok) process.exitCode = answerIsNo
  })
}

function textOf({ ok, workflows, findings, omitted }: DoctorReport): string {
  const looked = `${workflows} ${workflows === 1 ? 'workflow' : 'workflows'} looked at`
  if (ok) return `${looked}: all is well.`
  const groups = new Map<string, DoctorFinding[]>()
  for (const finding of findings) groups.set(finding.workflowId, [...(groups.get(finding.workflowId) ?? []), finding])
  const parts = [...groups].map(([id, own]) => {
    const type = own[0]?.workflow === '' ? 'Workflow' : own[0]?.workflow
    return [`${type} ${id}`, ...own.map(({ problem, remedy }) => `  ${problem}\n    ${remedy}`)].join('\n')
  })
  const more = omitted === 0 ? '' : ` ${omitted} more findings are not listed.`
  return `${parts.join('\n\n')}\n\n${looked}, something is wrong with ${groups.size}.${more}`
}
