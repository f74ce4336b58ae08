/**
 * Finds what a command works on: the application's own Geneva, exported by a module, or a bare database where no code is
 * needed. Only a path that a person has given, or a file in the current folder, is ever imported.
 */
import { existsSync } from 'node:fs'
import { type DatabaseOptions, databaseUrlForms, Geneva } from '../index.ts'
import { WrongUsage } from './exit-codes.ts'
import { loadGeneva } from './load-geneva.ts'

/** What the options that all commands share say. */
export interface Where {
  readonly app?: string
  readonly database?: string
  readonly prefix?: string
  readonly schema?: string
  /** A database that is not there yet is made. Others only look: a mistyped path must not become a file. */
  readonly makes?: boolean
  /** The command only looks: the code of a module tells it names and forms, and none of it gets into the database. */
  readonly looks?: boolean
}

/** In the order in which they are looked for. */
export const configNames = ['ts', 'mts', 'js', 'mjs'].map(ending => `geneva.config.${ending}`)

/** True for what can only be a module: everything else on a command line is an id or a name. */
export function looksLikeModule(text: string): boolean {
  return /^\.{0,2}\/|^file:|\.[cm]?[jt]s$/.test(text)
}

/** The Geneva of the application, with its code. */
export async function findApp(where: Where): Promise<Geneva> {
  const module = moduleOf(where)
  if (module !== null && where.database === undefined) return loadFor(module, where)
  throw new WrongUsage(
    `This command needs the code of your workflows. ${remedy}${where.database === undefined ? '' : ' It cannot do with --database alone.'}`,
  )
}

/** The Geneva of the application, or one without code on the database that is given. */
export async function findGeneva(where: Where): Promise<Geneva> {
  if (where.app !== undefined && where.database !== undefined) {
    throw new WrongUsage('Give a module or --database, not both: the module says which database it is.')
  }
  const database = where.database === undefined ? null : databaseFrom(where.database, where)
  const module = database === null ? moduleOf(where) : null
  if (module !== null) return loadFor(module, where)
  const { DATABASE_URL } = process.env
  const url = database ?? (DATABASE_URL ? databaseFrom(DATABASE_URL, where) : null)
  if (url !== null) return new Geneva({ database: { ...url, mustExist: where.makes !== true }, migrate: false })
  throw new WrongUsage(
    `Which workflows? ${remedy} Or give a database: --database ${databaseUrlForms}, or DATABASE_URL.`,
  )
}

/** What runs in production may be older than the code at hand: whoever only looks must not deploy it. */
async function loadFor(module: string, { looks = false }: Where): Promise<Geneva> {
  const geneva = await loadGeneva(module)
  if (looks) geneva.onlyLook()
  return geneva
}

const remedy =
  'Name the module that exports your Geneva, as in `--app ./geneva.js`, set GENEVA_APP, or run `geneva init`, which writes geneva.config.js.'

export function databaseFrom(url: string, { prefix, schema }: Where): DatabaseOptions {
  return { url, ...(prefix === undefined ? {} : { prefix }), ...(schema === undefined ? {} : { schema }) }
}

/** The module that is named, or found where none is; `--database` comes before one that is only found. */
export function moduleOf({ app }: Where): string | null {
  return app ?? (process.env.GENEVA_APP || null) ?? configNames.find(name => existsSync(name)) ?? null
}
