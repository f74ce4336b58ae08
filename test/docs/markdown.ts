/** Reads the documentation the way the tests need it: its code blocks, tables and links, with the lines they stand on. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export interface Page {
  /** From the root of the repository. */
  readonly path: string
  readonly text: string
  readonly lines: readonly string[]
}

export interface CodeBlock {
  readonly page: string
  /** The line of its first line of code, from 1. */
  readonly line: number
  /** What stands behind the opening fence: `ts`, `sh`, `ts fragment`. */
  readonly info: string
  readonly code: string
  /** The file that the text before it calls it by, as in "`worker.ts`:", so that other blocks can import it. */
  readonly file: string | null
  /** What the last `<!-- hidden ... -->` comment before it holds. */
  readonly hidden: string
}

export function readPage(path: string): Page {
  const text = readFileSync(join(root, path), 'utf8')
  return { path, text, lines: text.split('\n') }
}

/** Every page that people read: those at the root, in `docs` and in `examples`. */
export function allPages(): Page[] {
  const inFolder = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(name => `${folder}/${name}`)
  const paths = [...readdirSync(root), ...inFolder('docs'), ...inFolder('examples')]
  return paths.filter(path => path.endsWith('.md')).map(path => readPage(path.replaceAll('\\', '/')))
}

export function codeBlocks({ path, lines }: Page): CodeBlock[] {
  const blocks: CodeBlock[] = []
  let hidden = ''
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? ''
    if (line.startsWith('<!-- hidden')) {
      const end = lines.indexOf('-->', index)
      hidden = lines.slice(index + 1, end).join('\n')
      index = end
    } else if (line.startsWith('```')) {
      const end = lines.findIndex((each, at) => at > index && each.startsWith('```'))
      if (end === -1) throw new Error(`${path}:${index + 1} opens a code block that never ends.`)
      const code = lines.slice(index + 1, end).join('\n')
      const file = /`([\w-]+\.ts)`:$/.exec(lines[index - 2] ?? '')?.[1] ?? null
      blocks.push({ page: path, line: index + 2, info: line.slice(3).trim(), code, file, hidden })
      index = end
    }
  }
  return blocks
}

/** The first table under a heading, one array of cells per row, without its head. */
export function tableUnder(page: Page, heading: string): string[][] {
  const start = page.lines.findIndex(line => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading)
  if (start === -1) throw new Error(`${page.path} has no heading "${heading}".`)
  const rows: string[][] = []
  for (const line of page.lines.slice(start + 1)) {
    if (line.startsWith('|'))
      rows.push(
        line
          .slice(1, -1)
          .split('|')
          .map(cell => cell.trim()),
      )
    else if (rows.length > 0 || /^#+ /.test(line)) break
  }
  if (rows.length < 3) throw new Error(`${page.path} has no table under "${heading}".`)
  return rows.slice(2)
}

/** The words in backticks of a cell. */
export function quoted(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)
}

/** The members of a union of literals that a source file exports. */
export function unionIn(path: string, type: string): string[] {
  const source = readFileSync(join(root, path), 'utf8')
  const declared = new RegExp(`export type ${type} =((?:\\s*\\|?\\s*'[^']+')+)`).exec(source)?.[1]
  if (declared === undefined) throw new Error(`${path} exports no union ${type} of literals.`)
  return [...declared.matchAll(/'([^']+)'/g)].map(([, member = '']) => member)
}
