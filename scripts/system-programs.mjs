/** Programs of the system that tests and measurements need: found on the path, or installed with apt-get where we are root. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { run } from './databases/run.mjs'

/** Where servers are that the path of a user leaves out. */
const further = ['/usr/bin', '/usr/sbin', '/usr/local/sbin', '/usr/libexec']

/** @param {readonly string[]} names what it is called here or there */
export function findProgram(...names) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...further]
  return folders.flatMap(folder => names.map(name => join(folder, name))).find(isExecutable)
}

/** @param {string} file */
function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export const isRoot = () => process.getuid?.() === 0

/** @param {readonly string[]} packages */
export async function installPackages(...packages) {
  if (!isRoot()) throw new Error('Only root can install it.')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update'], { env })
  const lock = ['-o', 'DPkg::Lock::Timeout=300']
  await run('apt-get', ['install', '-y', '--no-install-recommends', ...lock, ...packages], { env })
}
