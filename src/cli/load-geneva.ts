/**
 * Loads the application's own Geneva from a module that exports it, as `geneva` or as its default. A module that Node cannot run is
 * told from one that has a mistake.
 */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Geneva, InvalidArgumentError } from '../index.ts'

const typeScript = /\.[cm]?ts$/

export async function loadGeneva(module: string): Promise<Geneva> {
  const url = module.startsWith('file:') ? module : pathToFileURL(resolve(module)).href
  if (!existsSync(new URL(url))) {
    throw new InvalidArgumentError(`There is no file ${module}. Name the module that makes your Geneva.`)
  }
  const exported = (await import(url).catch(error => Promise.reject(explained(module, error)))) as Exports
  const found = [exported.geneva, exported.default].find(isGeneva)
  if (found) return found
  throw new InvalidArgumentError(
    `${module} exports no Geneva. Write \`export const geneva = new Geneva({ ... })\` there.`,
  )
}

interface Exports {
  readonly geneva?: unknown
  readonly default?: unknown
}

function explained(module: string, error: unknown): unknown {
  const { code } = error as { code?: unknown }
  if (code !== 'ERR_UNKNOWN_FILE_EXTENSION' || !typeScript.test(module)) return error
  return new InvalidArgumentError(
    `Node ${process.versions.node} does not run TypeScript by itself, so ${module} cannot be loaded. Name the compiled module, or use Node 22.18 or newer.`,
  )
}

/** Not by class: the application may have another copy of the package. */
function isGeneva(value: unknown): value is Geneva {
  return typeof value === 'object' && value !== null && 'check' in value && 'startWorker' in value
}
