/** Starts a compiled test program as a process that does not survive us, for the harness, which runs without a test runner. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const inBuild = import.meta.url.includes('/.build/')
const programs = new URL(inBuild ? '../' : '../../../.build/bundle/', import.meta.url)

/** Standard input is a pipe that closes when the parent dies, however it dies. */
const endWithParent = `data:text/javascript,${encodeURIComponent(
  "process.stdin.on('error', () => {}).once('close', () => process.exit(1)).resume().unref()",
)}`

/** Standard output is thrown away; standard error is a pipe. */
export function spawnNode(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const { GENEVA_FAILPOINT: _, NODE_OPTIONS: __, ...inherited } = process.env
  const program = fileURLToPath(new URL(`${name}.js`, programs))
  return spawn(process.execPath, ['--enable-source-maps', `--import=${endWithParent}`, program, ...args], {
    env: { ...inherited, ...env },
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
  })
}
