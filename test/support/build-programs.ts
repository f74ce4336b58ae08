/**
 * Makes what tests start as processes: everything compiled file by file, and the programs once more, put together with
 * the engine in a few files. To load its five hundred modules took two thirds of the processor time of a start, and a run has
 * hundreds of starts.
 */
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'vite'

/** Besides the programs: what is named by its path, in the tests or in the engine itself. */
const entries = {
  index: 'src/index.ts',
  'command-line': 'src/cli/command-line.ts',
  'heartbeat-program': 'src/worker/heartbeat-program.ts',
}

export async function buildPrograms(root: string): Promise<void> {
  await Promise.all([compile(root), bundle(root)])
}

/** Emits without checking types, which `npm run typecheck` does. */
async function compile(root: string): Promise<void> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  await promisify(execFile)(process.execPath, [compiler, '-p', 'tsconfig.programs.json'], { cwd: root }).catch(
    error => {
      throw new Error(`The programs for the tests did not compile:\n${error.stdout}${error.stderr}`, { cause: error })
    },
  )
}

/** Packages stay outside, and are found from there as they are from everywhere else here. */
async function bundle(root: string): Promise<void> {
  const folder = await readdir(join(root, 'test', 'programs'))
  const programs = folder.filter(file => file.endsWith('.ts')).map(file => [parse(file).name, `test/programs/${file}`])
  const input = { ...entries, ...Object.fromEntries(programs) }
  const output = {
    entryFileNames: '[name].js',
    chunkFileNames: 'part-[name].js',
    sourcemapExcludeSources: true,
    comments: false,
  }
  const rolldownOptions = { input, output }
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    build: { ssr: true, outDir: '.build/bundle', minify: false, sourcemap: true, target: 'node20', rolldownOptions },
  })
}
