/**
 * `geneva check`: what deploying this code would do to workflows that run. For a pipeline: it fails when workflows would be
 * left standing.
 */
import type { CheckFinding, CheckReport } from '../index.ts'
import { AppCommand, type Shared, withApp } from './app-command.ts'
import { answerIsNo } from './exit-codes.ts'
import { harmless, printJson, say } from './terminal.ts'

export function checkCommand(): AppCommand {
  return new AppCommand('check', {
    description: 'tell what deploying this code would do to workflows that have not ended',
    examples: [
      ['check', 'the code of geneva.config.*'],
      ['check ./dist/geneva.js --json', 'in a pipeline, before the deploy'],
    ],
    more: 'Exit code 3: a workflow would be orphaned.',
  })
    .locating(true)
    .action((options: Shared) =>
      withApp({ ...options, looks: true }, async geneva => {
        const report = await geneva.check()
        if (options.json) printJson(report)
        else say(harmless(textOf(report)))
        if (!report.ok) process.exitCode = answerIsNo
      }),
    )
}

const headings: readonly (readonly [CheckFinding['verdict'], string])[] = [
  ['orphaned', 'Orphaned: they stand at a step that the code does not have, or before a join that it has lost'],
  ['needs_map', 'Needs a map: perhaps a step was renamed'],
  ['heals', 'Heals: they are brought in line with the new graph'],
  ['unchanged', 'Unchanged'],
]

function textOf({ findings, workflows }: CheckReport): string {
  if (workflows === 0) return 'No workflow of these classes is under way.'
  const parts = headings.flatMap(([verdict, heading]) => {
    const own = findings.filter(finding => finding.verdict === verdict)
    return own.length === 0 ? [] : [[heading, ...own.map(lineOf)].join('\n')]
  })
  return parts.join('\n\n')
}

function lineOf({ type, count, what, examples }: CheckFinding): string {
  const which = `${examples.join(', ')}${count > examples.length ? ', ...' : ''}`
  return `  ${type}: ${count} ${count === 1 ? 'workflow' : 'workflows'} (${which})\n    ${what}`
}
