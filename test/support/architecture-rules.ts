/**
 * The rules behind `architecture.test.ts`. Each takes files and returns the violations as sentences, so that a failing
 * test is a list of what to change; there is no way to waive one.
 */
import { basename } from 'node:path'
import type { SourceFile } from './source-file.ts'

/** A part of `src` and the parts it may import from. A file belongs to the first layer whose pattern it matches. */
export interface Layer {
  readonly name: string
  readonly files: RegExp
  readonly mayImport: readonly string[]
  /** Layers that may be reached by `import()` only. */
  readonly mayLoad?: readonly string[]
}

export function importsAgainstDirection(files: readonly SourceFile[], layers: readonly Layer[]): string[] {
  const layerOf = (path: string) => layers.find(layer => layer.files.test(path))
  return files.flatMap(file => {
    const layer = layerOf(file.path)
    if (!layer) return [`${file.path} belongs to no layer: put it into one of the folders, or add a layer.`]
    return file.imports.flatMap(({ file: target, dynamic }) => {
      if (target === undefined) return []
      const other = layerOf(target)?.name ?? target
      const allowed = [layer.name, ...layer.mayImport, ...(dynamic ? (layer.mayLoad ?? []) : [])]
      return allowed.includes(other) ? [] : [`${file.path} (${layer.name}) imports ${target} (${other}).`]
    })
  })
}

/** Packages that only the files matching the pattern may import, subpaths included. */
export interface PackageOwner {
  readonly packages: readonly string[]
  readonly files: RegExp
}

export function importsOfForeignPackages(files: readonly SourceFile[], owners: readonly PackageOwner[]): string[] {
  return files.flatMap(file =>
    file.imports.flatMap(({ specifier }) => {
      const owner = owners.find(({ packages }) =>
        packages.some(name => specifier === name || specifier.startsWith(`${name}/`)),
      )
      return !owner || owner.files.test(file.path) ? [] : [`${file.path} imports ${specifier}.`]
    }),
  )
}

/** One cycle, as the way from a file back to itself; repeated runs show the next. Imports of types count as well. */
export function importCycle(files: readonly SourceFile[]): string[] {
  const graph = new Map(files.map(file => [file.path, importedFiles(file)]))
  const withoutCycle = (path: string) => ![...(graph.get(path) ?? [])].some(target => graph.has(target))
  for (let leaf = [...graph.keys()].find(withoutCycle); leaf; leaf = [...graph.keys()].find(withoutCycle)) {
    graph.delete(leaf)
  }
  const way: string[] = []
  let next = [...graph.keys()][0]
  while (next !== undefined && !way.includes(next)) {
    way.push(next)
    next = [...(graph.get(next) ?? [])].find(target => graph.has(target))
  }
  return next === undefined ? [] : [[...way.slice(way.indexOf(next)), next].join(' -> ')]
}

/** Files that cannot be reached from the entry points. */
export function deadFiles(files: readonly SourceFile[], entryPoints: readonly string[]): string[] {
  const byPath = new Map(files.map(file => [file.path, file]))
  const alive = new Set<string>()
  const queue = [...entryPoints]
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const file = byPath.get(path)
    if (!file || alive.has(path)) continue
    alive.add(path)
    queue.push(...importedFiles(file))
  }
  return files.flatMap(({ path }) => (alive.has(path) ? [] : [`${path} is reached from no entry point.`]))
}

export function longFiles(files: readonly SourceFile[], limit: number): string[] {
  return files.flatMap(({ path, lines }) =>
    lines > limit ? [`${path} has ${lines} lines, the limit is ${limit}.`] : [],
  )
}

export function bigFunctions(files: readonly SourceFile[], limits: { lines: number; parameters: number }): string[] {
  return files.flatMap(({ path, functions }) =>
    functions.flatMap(({ line, lines, parameters }) => [
      ...(lines > limits.lines
        ? [`${path}:${line} is a function of ${lines} lines, the limit is ${limits.lines}.`]
        : []),
      ...(parameters > limits.parameters
        ? [`${path}:${line} is a function of ${parameters} parameters, the limit is ${limits.parameters}.`]
        : []),
    ]),
  )
}

const vagueName = /(^|-)(utils?|helpers?|common|managers?|misc)(-|\.tsx?$)/

/** File names say where to look: kebab-case, unique, and after the thing they hold. `index.ts` is exempt. */
export function poorFileNames(files: readonly SourceFile[]): string[] {
  const seen = new Map<string, string>()
  return files.flatMap(({ path }) => {
    const name = basename(path)
    if (name === 'index.ts') return []
    const twin = seen.get(name)
    seen.set(name, path)
    return [
      ...(/^[a-z0-9]+(-[a-z0-9]+)*\.tsx?$/.test(name) ? [] : [`${path} is not in kebab-case.`]),
      ...(vagueName.test(name) ? [`${path} does not say what it holds.`] : []),
      ...(twin ? [`${path} has the same name as ${twin}.`] : []),
    ]
  })
}

export function withoutOpeningComment(files: readonly SourceFile[]): string[] {
  const opening = /^(#![^\n]*\n)?\/\*\*/
  return files.flatMap(({ path, text }) =>
    opening.test(text) ? [] : [`${path} does not open with a doc comment that says what it is for.`],
  )
}

/** Words that code may not hold, be it in a name, a string or the path of an import. Comments may. */
export function forbiddenWords(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.flatMap(({ path, words }) =>
    words.flatMap(({ line, text }) => {
      const found = pattern.exec(text)
      return found ? [`${path}:${line} names ${found[0]}.`] : []
    }),
  )
}

/** Text that may stand nowhere, comments included. */
export function forbiddenText(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  )
}

function importedFiles(file: SourceFile): Set<string> {
  return new Set(file.imports.flatMap(({ file: target }) => (target === undefined ? [] : [target])))
}
