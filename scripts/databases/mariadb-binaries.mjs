/**
 * Finds MariaDB's server programs, or gets them: with apt-get as root, or else unpacked into a cache folder without
 * touching the system. Never goes on without them: a missing database is a failure.
 */
import { constants, existsSync } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findProgram, installPackages, isRoot } from '../system-programs.mjs'
import { run } from './run.mjs'

const packages = ['mariadb-server-core', 'mariadb-client-core']
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))

/**
 * @typedef {object} MariadbBinaries
 * @property {string} mariadbd
 * @property {string} installDb
 * @property {string} base the folder that holds MariaDB's bin and share
 * @property {Record<string, string>} env
 */

/**
 * @param {string} folder used where the cache cannot be written
 * @returns {Promise<MariadbBinaries>}
 */
export async function mariadbBinaries(folder) {
  const installed = findInstalled()
  if (installed) return installed
  try {
    if (isRoot()) {
      announce('installing it with apt-get')
      await installPackages(...packages)
      const found = findInstalled()
      if (found) return found
      throw new Error(`${packages.join(' and ')} were installed, but brought no mariadbd.`)
    }
    return await unpacked(folder)
  } catch (cause) {
    throw new Error(
      'MariaDB for the tests is missing and could not be fetched. Install it (apt-get install mariadb-server-core ' +
        'mariadb-client-core, or brew install mariadb), or set GENEVA_TEST_MYSQL_URL to the address of a running ' +
        `server.\n${cause instanceof Error ? cause.message : cause}`,
      { cause },
    )
  }
}

/** @returns {MariadbBinaries | undefined} */
function findInstalled() {
  const mariadbd = findProgram('mariadbd')
  const installDb = findProgram('mariadb-install-db')
  if (!mariadbd || !installDb) return undefined
  return { mariadbd, installDb, base: dirname(dirname(mariadbd)), env: {} }
}

/**
 * @param {string} folder
 * @returns {Promise<MariadbBinaries>}
 */
async function unpacked(folder) {
  const cache = await access(modules, constants.W_OK).then(
    () => join(modules, '.cache', 'geneva-drive'),
    () => folder,
  )
  const root = join(cache, 'mariadb')
  if (!existsSync(root)) await unpack(cache, root)
  const base = join(root, 'usr')
  const libraries = (await readdir(join(base, 'lib'))).map(name => join(base, 'lib', name))
  return {
    mariadbd: join(base, 'sbin', 'mariadbd'),
    installDb: join(base, 'bin', 'mariadb-install-db'),
    base,
    env: { LD_LIBRARY_PATH: [...libraries, join(base, 'lib')].join(':') },
  }
}

/**
 * Works in a folder of its own and renames it when complete, so that an interrupted or parallel run leaves no half cache.
 *
 * @param {string} cache
 * @param {string} root
 */
async function unpack(cache, root) {
  announce('downloading it with apt-get')
  await mkdir(cache, { recursive: true })
  const work = await mkdtemp(join(cache, 'download-'))
  try {
    const apt = await privateApt(work)
    await apt('update')
    const plan = await apt('install', '--simulate', '--no-install-recommends', ...packages)
    const needed = [...plan.matchAll(/^Inst (\S+)/gm)].map(match => match[1] ?? '')
    const names = needed.length > 0 ? needed : packages
    await apt('download', ...names)
    const target = join(work, 'root')
    await mkdir(target)
    for (const file of await readdir(work)) {
      if (file.endsWith('.deb')) await run('dpkg', ['-x', join(work, file), target])
    }
    await rename(target, root).catch(error => {
      if (!existsSync(root)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/**
 * An apt-get with its own package lists and cache: the system's belong to root, and may be empty.
 *
 * @param {string} work
 */
async function privateApt(work) {
  const state = join(work, 'state')
  const archives = join(work, 'cache')
  await mkdir(join(state, 'lists', 'partial'), { recursive: true })
  await mkdir(join(archives, 'archives', 'partial'), { recursive: true })
  const folders = [`Dir::State=${state}`, 'Dir::State::status=/var/lib/dpkg/status', `Dir::Cache=${archives}`]
  const settings = [...folders, 'Debug::NoLocking=true'].flatMap(setting => ['-o', setting])
  return (/** @type {string[]} */ ...args) => run('apt-get', [...settings, ...args], { cwd: work })
}

/** @param {string} how */
function announce(how) {
  process.stderr.write(`MariaDB for the tests is missing: ${how}, once.\n`)
}
