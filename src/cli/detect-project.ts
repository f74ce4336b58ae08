/**
 * What a folder tells about the application in it: its database, framework, language and how it changes its own tables. It
 * reads a few well-known files and imports nothing.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DatabaseKind, databaseKinds } from '../store/open-store.ts'
import { configNames } from './find-geneva.ts'

export type Framework = 'express' | 'next' | 'none'
export type Language = 'ts' | 'js' | 'mjs'

/** A tool by which the application changes its own tables, and the folder that it keeps the changes in. */
export interface Migrator {
  readonly tool: 'knex' | 'kysely' | 'prisma' | 'drizzle'
  readonly folder: string
}

export interface Project {
  readonly folder: string
  readonly hasPackage: boolean
  readonly isModule: boolean
  readonly dependencies: ReadonlySet<string>
  readonly framework: Framework
  readonly language: Language
  readonly database: DatabaseKind
  /** `null` where nobody has said one yet. */
  readonly databaseUrl: string | null
  /** The file that says it, if it is not the environment. */
  readonly environmentFile: '.env' | null
  readonly migrator: Migrator | null
  /** The pages of a Next application stand below `src`. */
  readonly hasSourceFolder: boolean
  /** A config that is there already. */
  readonly config: string | null
}

export function detectProject(folder: string, environment: NodeJS.ProcessEnv): Project {
  const read = (name: string) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : null)
  const manifest = parsed(read('package.json'))
  const dependencies = new Set(Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }))
  const fromFile = urlIn(read('.env'))
  const databaseUrl = environment.DATABASE_URL || fromFile
  const framework = dependencies.has('next') ? 'next' : dependencies.has('express') ? 'express' : 'none'
  const isModule = manifest.type === 'module'
  return {
    folder,
    hasPackage: read('package.json') !== null,
    isModule,
    dependencies,
    framework,
    language: languageOf(framework, isModule, read('tsconfig.json') !== null),
    database: databaseOf(databaseUrl, dependencies, read('prisma/schema.prisma')),
    databaseUrl,
    environmentFile: environment.DATABASE_URL || fromFile === null ? null : '.env',
    migrator: migratorOf(folder, dependencies),
    hasSourceFolder: existsSync(join(folder, 'src/app')),
    config: configNames.find(name => existsSync(join(folder, name))) ?? null,
  }
}

interface Manifest {
  readonly type?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

function parsed(text: string | null): Manifest {
  if (text === null) return {}
  try {
    return (JSON.parse(text) ?? {}) as Manifest
  } catch {
    return {}
  }
}

function urlIn(environmentFile: string | null): string | null {
  const line = /^\s*(?:export\s+)?DATABASE_URL\s*=\s*(.+?)\s*$/m.exec(environmentFile ?? '')?.[1]
  return line?.replace(/^(["'])(.*)\1$/, '$2') ?? null
}

/** TypeScript only where Node runs it as it is; a bundler has its own view of how such files are imported. */
function languageOf(framework: Framework, isModule: boolean, hasTypes: boolean): Language {
  const { typescript } = process.features as { typescript?: unknown }
  if (hasTypes && typescript && framework !== 'next' && isModule) return 'ts'
  return isModule ? 'js' : 'mjs'
}

function databaseOf(url: string | null, dependencies: ReadonlySet<string>, prisma: string | null): DatabaseKind {
  const scheme = /^([a-z]+):/.exec(url ?? '')?.[1]
  const provider = /datasource[^}]*provider\s*=\s*"(\w+)"/.exec(prisma ?? '')?.[1]
  const found =
    databaseKinds.find(({ schemes }) => scheme !== undefined && schemes.includes(scheme)) ??
    databaseKinds.find(({ signs }) => provider !== undefined && signs.includes(provider)) ??
    databaseKinds.find(({ signs }) => signs.some(sign => dependencies.has(sign))) ??
    databaseKinds.at(-1)
  if (found === undefined) throw new Error('There is no kind of database.')
  return found
}

function migratorOf(folder: string, dependencies: ReadonlySet<string>): Migrator | null {
  const has = (name: string) => existsSync(join(folder, name))
  const named = (pattern: RegExp) => has('.') && readdirSync(folder).some(name => pattern.test(name))
  const first = (names: readonly string[]) => names.find(has) ?? null
  if (has('prisma/schema.prisma')) return { tool: 'prisma', folder: 'prisma/migrations' }
  if (named(/^drizzle\.config\./)) return { tool: 'drizzle', folder: 'drizzle' }
  const migrations = first(['migrations', 'db/migrations', 'src/migrations', 'database/migrations'])
  if (named(/^knexfile\./) || (dependencies.has('knex') && migrations !== null)) {
    return { tool: 'knex', folder: migrations ?? 'migrations' }
  }
  return dependencies.has('kysely') && migrations !== null ? { tool: 'kysely', folder: migrations } : null
}
