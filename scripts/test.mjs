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
const report = join(root, '.build', 'test-report.json')

const checks = [
  { name: 'lint', program: 'node_modules/@biomejs/biome/bin/biome', args: ['check', '.'] },
  { name: 'typecheck', program: 'node_modules/typescript/bin/tsc', args: ['-p', 'tsconfig.json'] },
  { name: 'typecheck dashboard', program: 'node_modules/typescript/bin/tsc', args: ['-p', 'dashboard/tsconfig.json'] },
  { name: 'build', program: 'scripts/build.mjs', args: [] },
]

let passed = 0
let failed = 0
for (const { name, program, args } of checks) {
  if ((await phase(name, program, args)) === 0) passed++
  else failed++
}
const tests = await runTests()
passed += tests.passed
failed += tests.failed
process.exitCode = failed === 0 ? 0 : 1
console.log(`${passed} passed, ${failed} failed`)

/** A run of selected tests says nothing about coverage, and leaves tests out on purpose; a whole run must do neither. */
async function runTests() {
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const whole = extra.length === 0
  // Fetched before the tests begin: theirs is not the time to wait for a package.
  if (whole) await chromiumProgram().catch(error => console.error(error.message))
  const args = ['run', ...reporters, ...(whole ? ['--coverage'] : []), ...extra]
  const code = await phase('tests', 'node_modules/vitest/vitest.mjs', args)
  const result = readResult()
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
 */
function readResult() {
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
 * Runs a program with our output and prints how long it took. The channel lets vitest notice when we are interrupted or
 * killed, and end as well.
 *
 * @param {string} name
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Promise<number | string>} the exit code, or what else ended it
 */
function phase(name, program, args) {
  console.log(`\n> ${name}`)
  const startedAt = performance.now()
  return new Promise(resolve => {
    const child = spawn(process.execPath, [join(root, program), ...args], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child.once('close', (code, signal) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      console.log(`${name}: ${code === 0 ? 'ok' : 'failed'} in ${seconds} s`)
      resolve(code ?? signal ?? 'nothing')
    })
  })
}
