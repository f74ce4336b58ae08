/**
 * Finds Chromium for the browser tests, or gets it with apt-get as root. Never goes on without it: a missing browser is a
 * failure.
 */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { run } from '../databases/run.mjs'

/** As root Chromium needs `--no-sandbox`; the rest keeps it from calling home. */
export const launchArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** @returns {Promise<string>} the path of the program */
export async function chromiumProgram() {
  const { GENEVA_TEST_CHROMIUM } = process.env
  if (GENEVA_TEST_CHROMIUM) return GENEVA_TEST_CHROMIUM
  const installed = find()
  if (installed) return installed
  try {
    if (process.getuid?.() !== 0) throw new Error('Only root can install it.')
    await install()
    const found = find()
    if (found) return found
    throw new Error('The package was installed, but brought no program.')
  } catch (cause) {
    throw new Error(
      'Chromium for the browser tests is missing and could not be fetched. Install it (apt-get install chromium), or ' +
        `set GENEVA_TEST_CHROMIUM to the path of the program.\n${cause instanceof Error ? cause.message : cause}`,
      { cause },
    )
  }
}

function find() {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin']
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

async function install() {
  console.error('Chromium for the browser tests is missing: installing it with apt-get.')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update'], { env })
  await run('apt-get', ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300', 'chromium'], {
    env,
  })
}
