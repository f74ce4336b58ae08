/**
 * Everything that must hold before a change lands: lint, types, build, tests. Runs all of it even if a part fails, and
 * ends with `N passed, N failed` alone on the last line. Arguments go to vitest: `npm test -- test/unit`.
 */
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromiumProgram } from './browser/chromium.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const extra = process.argv.slice(2)
const vitest = 'node_modules/vitest/vitest.mjs'

/** What needs no other, in two lines beside each other. */
const checks = [
  [{ name: 'typecheck', program: 'node_modules/typescript/bin/tsc', args: ['-p', 'tsconfig.json'] }],
  [
    { name: 'lint', program: 'node_modules/@biomejs/biome/bin/biome', args: ['check', '.'] },
    {
      name: 'typecheck dashboard',
      program: 'node_modules/typescript/bin/tsc',
      args: ['-p', 'dashboard/tsconfig.json'],
    },
    { name: 'build', program: 'scripts/build.mjs', args: [] },
  ],
]

let passed = 0
let failed = 0
await Promise.all(
  checks.map(async line => {
    for (const check of line) {
      if ((await phase({ ...check, together: true })) === 0) passed++
      else failed++
    }
  }),
)
for (const run of testRuns()) {
  const result = await runTests(run)
  passed += result.passed
  failed += result.failed
}
process.exitCode = failed === 0 ? 0 : 1
console.log(`${passed} passed, ${failed} failed`)

/** A run of selected tests says nothing about coverage, and leaves tests out on purpose; a whole one must do neither. */
function testRuns() {
  if (extra.length > 0) return [{ name: 'tests', args: extra, whole: false }]
  return [
    { name: 'unit tests', args: ['--config', 'vitest.unit.config.ts', '--coverage'], whole: true },
    { name: 'tests', args: ['--exclude', 'test/unit/**'], whole: true },
  ]
}

/** @param {{ name: string, args: readonly string[], whole: boolean }} run */
async function runTests({ name, args, whole }) {
  const report = join(root, '.build', `${name.replace(' ', '-')}-report.json`)
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  // Fetched before the tests begin: theirs is not the time to wait for a package.
  if (whole) await chromiumProgram().catch(error => console.error(error.message))
  const code = await phase({ name, program: vitest, args: ['run', ...reporters, ...args] })
  const result = readResult(report)
  if (whole && result.skipped > 0) complain(`${result.skipped} tests were skipped. There are no skips here.`)
  if (result.passed === 0 && result.failed === 0) complain('No test ran.')
  else if (code !== 0 && result.failed === 0) complain(`No test failed, but vitest ended with ${code}; see above.`)
  return result

  /** @param {string} message */
  function complain(message) {
    console.error(message)
    result.failed++
  }
}

/**
 * Without a report there is nothing to count. A test file that could not be loaded has no failed test in it, and counts
 * as one.
 *
 * @param {string} report
 */
function readResult(report) {
  try {
    const json = JSON.parse(readFileSync(report, 'utf8'))
    /** @type {{ status: string, assertionResults: { status: string }[] }[]} */
    const files = json.testResults
    const broken = files.filter(
      result => result.status === 'failed' && !result.assertionResults.some(test => test.status === 'failed'),
    )
    return {
      passed: json.numPassedTests,
      failed: json.numFailedTests + broken.length,
      skipped: json.numPendingTests + json.numTodoTests,
    }
  } catch {
    return { passed: 0, failed: 0, skipped: 0 }
  }
}

/**
 * Runs a program and prints how long it took. What runs together with others says what it has to say when it is over. The channel
 * lets vitest notice when we are interrupted or killed, and end as well.
 *
 * @param {{ name: string, program: string, args: readonly string[], together?: boolean }} what
 * @returns {Promise<number | string>} the exit code, or what else ended it
 */
function phase({ name, program, args, together = false }) {
  const startedAt = performance.now()
  /** @type {Buffer[]} */
  const said = []
  if (!together) console.log(`\n> ${name}`)
  return new Promise(resolve => {
    const output = together ? 'pipe' : 'inherit'
    const child = spawn(process.execPath, [join(root, program), ...args], {
      cwd: root,
      stdio: ['ignore', output, output, 'ipc'],
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', chunk => said.push(chunk))
    child.once('close', (code, signal) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      if (together) process.stdout.write(`\n> ${name}\n${Buffer.concat(said)}`)
      console.log(`${name}: ${code === 0 ? 'ok' : 'failed'} in ${seconds} s`)
      resolve(code ?? signal ?? 'nothing')
    })
  })
}
