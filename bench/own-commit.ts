/** Which code was measured, so that a number can be told from one of other code. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** The commit, and whether files of the checkout differ from it; `unknown` where there is no checkout. */
export async function ownCommit(): Promise<string> {
  const git = async (...args: string[]) =>
    (await promisify(execFile)('git', args, { cwd: import.meta.dirname })).stdout.trim()
  try {
    const commit = await git('rev-parse', '--short', 'HEAD')
    const changed = await git('status', '--porcelain', '--untracked-files=no')
    return changed === '' ? commit : `${commit} with changes`
  } catch {
    return 'unknown'
  }
}
