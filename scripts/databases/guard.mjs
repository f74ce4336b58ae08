/**
 * Makes sure that servers and their folder go away with the process that started them, even if that one is killed with
 * SIGKILL. A small shell holds the other end of a pipe; when the pipe closes, for whatever reason, it cleans up.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

/**
 * SIGQUIT lets PostgreSQL end its backends and free its shared memory at once; whatever is still there after five
 * seconds is killed with its process group.
 */
const script = `
trap '' HUP INT QUIT TERM
processes=''
while read -r process; do processes="$processes $process"; done
for process in $processes; do kill -QUIT "$process"; done
for process in $processes; do
  tries=0
  while kill -0 "$process" && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
  kill -KILL -- "-$process"
done
rm -rf -- "$1"
`

/**
 * @typedef {object} Guard
 * @property {(child: import('node:child_process').ChildProcess) => void} watch
 *   Takes charge of a process that was spawned with `detached: true`. Call it in the same tick as the spawn.
 * @property {() => Promise<void>} release Ends every watched process, deletes the folder, and resolves when both are done.
 */

/**
 * @param {string} folder deleted at the end
 * @returns {Guard}
 */
export function startGuard(folder) {
  const shell = spawn('sh', ['-c', script, 'geneva-guard', folder], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = once(shell, 'exit')
  shell.unref()
  return {
    watch(child) {
      if (child.pid !== undefined) shell.stdin.write(`${child.pid}\n`)
    },
    async release() {
      shell.ref()
      shell.stdin.end()
      await ended
    },
  }
}
