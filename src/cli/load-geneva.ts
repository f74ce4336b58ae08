/**
 * Finds the application's own Geneva: a module that a person names on the command line, which exports it as `geneva` or as
 * its default.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Geneva, InvalidArgumentError } from '../index.ts'

export async function loadGeneva(module: string): Promise<Geneva> {
  const path = resolve(module)
  if (!existsSync(path))
    throw new InvalidArgumentError(`There is no file ${module}. Name the module that makes your Geneva.`)
  const exported = (await import(pathToFileURL(path).href)) as { geneva?: unknown; default?: unknown }
  const found = [exported.geneva, exported.default].find(isGeneva)
  if (found) return found
  throw new InvalidArgumentError(
    `${module} exports no Geneva. Write \`export const geneva = new Geneva({ ... })\` there.`,
  )
}

/** Not by class: the application may have another copy of the package. */
function isGeneva(value: unknown): value is Geneva {
  return typeof value === 'object' && value !== null && 'check' in value && 'startWorker' in value
}
