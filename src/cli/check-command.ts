/**
 * `geneva check`: what deploying this code would do to workflows that run. For a pipeline: it fails when workflows would be
 * left standing.
 */
import { Command } from 'commander'
import type { CheckFinding, CheckReport } from '../index.ts'
import { loadGeneva } from './load-geneva.ts'

/** The exit code when workflows would be orphaned. */
const orphaned = 3

export function checkCommand(): Command {
  return new Command('check')
    .description(
      'compare the code with every workflow that has not ended: what heals, what needs a map, what is orphaned',
    )
    .argument('<module>', 'the module that exports your Geneva, as `geneva` or as its default')
    .option('--json', 'print one JSON document')
    .addHelpText('after', '\nExample:\n  geneva check ./dist/geneva.js\n\nExit code 3: a workflow would be orphaned.')
    .action(check)
}

async function check(module: string, options: { readonly json?: boolean }): Promise<void> {
  const geneva = await loadGeneva(module)
  try {
    const report = await geneva.check()
    console.log(options.json ? JSON.stringify(report) : textOf(report))
    if (!report.ok) process.exitCode = orphaned
  } finally {
    await geneva.close()
  }
}

const headings: readonly (readonly [CheckFinding['verdict'], string])[] = [
  ['orphaned', 'Orphaned: they stand at a step that the code does not have'],
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
