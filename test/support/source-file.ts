/** Reads TypeScript files as the rules of `architecture.test.ts` need them: imports, functions and words, without comments. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'vitest/node'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Import {
  readonly specifier: string
  /** The imported file, relative to the root; undefined for a package. */
  readonly file: string | undefined
  /** True for `import()`. */
  readonly dynamic: boolean
}

export interface FunctionShape {
  readonly line: number
  readonly lines: number
  readonly parameters: number
}

export interface Word {
  readonly line: number
  readonly text: string
}

export interface SourceFile {
  /** Relative to the root, with forward slashes: `src/engine/transitions.ts`. */
  readonly path: string
  readonly text: string
  readonly lines: number
  readonly imports: readonly Import[]
  readonly functions: readonly FunctionShape[]
  /** Names, strings and pieces of templates: everything but comments, keywords and punctuation. */
  readonly words: readonly Word[]
}

/** The TypeScript files below a folder of the repository, or none if it does not exist. */
export function sourceFiles(folder: string): SourceFile[] {
  return typescriptFiles(folder).map(path => parseSource(path, readFileSync(join(root, path), 'utf8')))
}

export function parseSource(path: string, text: string): SourceFile {
  const imports: Import[] = []
  const functions: FunctionShape[] = []
  const words: Word[] = []
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length
  visit(parseAst(text, { lang: path.endsWith('.tsx') ? 'tsx' : 'ts' }), node => {
    const specifier = importedSpecifier(node)
    if (specifier !== undefined) {
      const file = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : undefined
      imports.push({ specifier, file, dynamic: node.type === 'ImportExpression' })
    }
    const word = wordOf(node)
    if (word !== undefined) words.push({ line: lineAt(node.start), text: word })
    if (functionTypes.has(node.type)) {
      const line = lineAt(node.start)
      functions.push({ line, lines: lineAt(node.end) - line + 1, parameters: parameterCount(node) })
    }
  })
  return { path, text, lines: text.trimEnd().split('\n').length, imports, functions, words }
}

function typescriptFiles(folder: string): string[] {
  let entries: string[]
  try {
    entries = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  return entries
    .map(entry => posix.join(folder, entry.replaceAll('\\', '/')))
    .filter(path => /\.tsx?$/.test(path) && !path.includes('/node_modules/'))
    .sort()
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [property: string]: unknown
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

function visit(value: unknown, enter: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, enter)
  else if (isNode(value)) {
    enter(value)
    for (const child of Object.values(value)) visit(child, enter)
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

/** What an import, a re-export, an `import()` or an `import('...')` type names, if it is a plain string. */
function importedSpecifier(node: Node): string | undefined {
  if (!/^(Import(Declaration|Expression)|Export(Named|All)Declaration|TSImportType)$/.test(node.type)) return undefined
  const { source } = node
  return isNode(source) && typeof source.value === 'string' ? source.value : undefined
}

function wordOf(node: Node): string | undefined {
  if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') return String(node.name)
  if (node.type === 'Literal') return String(node.raw)
  if (node.type === 'TemplateElement') return (node.value as { raw: string }).raw
  return undefined
}

/** A `this` parameter exists only for the compiler. */
function parameterCount(node: Node): number {
  const parameters = node.params as Node[]
  return parameters.filter(parameter => parameter.name !== 'this').length
}
