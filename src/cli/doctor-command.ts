/**
 * `geneva doctor`: compares what is stored with what the events say and with what must always be true. It changes nothing;
 * it fails when something is wrong.
 */
import { Command, InvalidArgumentError as WrongArgument } from 'commander'
import type { DoctorFinding, DoctorReport } from '../index.ts'
import { loadGeneva } from './load-geneva.ts'

/** The exit code when something is wrong. */
const unsound = 3

interface Options {
  readonly workflow?: string
  readonly active?: boolean
  readonly limit?: number
  readonly json?: boolean
}

export function doctorCommand(): Command {
  return new Command('doctor')
    .exitOverride()
    .description('rebuild every workflow from its events and compare it with what is stored; changes nothing')
    .argument('<module>', 'the module that exports your Geneva, as `geneva` or as its default')
    .option('--workflow <id>', 'look at this workflow only')
    .option('--active', 'look only at workflows that have not ended')
    .option('--limit <count>', 'look at so many workflows, the newest first', count)
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  geneva doctor ./dist/geneva.js --active\n\nExit code 3: something is wrong.')
    .action(doctor)
}

async function doctor(module: string, { json, ...options }: Options): Promise<void> {
  const geneva = await loadGeneva(module)
  try {
    const report = await geneva.doctor(options)
    console.log(json ? JSON.stringify(report) : textOf(report))
    if (!report.ok) process.exitCode = unsound
  } finally {
    await geneva.close()
  }
}

function count(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new WrongArgument('It must be a whole number above 0.')
  return number
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
