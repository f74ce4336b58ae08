/**
 * Finds Chromium for the browser tests, or gets it with apt-get as root. Never goes on without it: a missing browser is a
 * failure.
 */
import { findProgram, installPackages } from '../system-programs.mjs'

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
  const installed = findProgram(...names)
  if (installed) return installed
  try {
    console.error('Chromium for the browser tests is missing: installing it with apt-get.')
    await installPackages('chromium')
    const found = findProgram(...names)
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
