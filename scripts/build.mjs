/**
 * Compiles `src` into a clean `dist`, builds the dashboard into it, and checks that everything package.json points at is
 * really there.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { bin, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

rmSync(join(root, 'dist'), { recursive: true, force: true })
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
const compiled = run(compiler, '-p', 'tsconfig.build.json')
const bundler = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
const bundled = run(bundler, 'build', 'dashboard', '--logLevel', 'warn')

/** @type {string[]} */
const programs = Object.values(bin)
const missing = [...programs, ...targets(exports), 'dist/dashboard/index.html'].filter(
  file => !existsSync(join(root, file)),
)
for (const file of missing) console.error(`The package needs ${file}, but the build did not make it.`)
for (const file of programs) if (!missing.includes(file)) chmodSync(join(root, file), 0o755)
process.exitCode = compiled && bundled && missing.length === 0 ? 0 : 1

/**
 * @param {...string} args a program of Node, and what it is called with
 * @returns {boolean} whether it went well
 */
function run(...args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0
}

/**
 * Every file named anywhere in an `exports` map.
 *
 * @param {unknown} entry
 * @returns {string[]}
 */
function targets(entry) {
  if (typeof entry === 'string') return [entry]
  return typeof entry === 'object' && entry !== null ? Object.values(entry).flatMap(targets) : []
}
