/**
 * Every TypeScript block in the documentation compiles. A block that imports from geneva-drive stands alone; others come
 * after the page's last `<!-- hidden ... -->` comment. Only blocks marked `ts fragment` are left out.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { allPages, type CodeBlock, codeBlocks, root } from './markdown.ts'

const folder = join(root, '.build', 'docs')
const blocks = allPages().flatMap(codeBlocks)

it('every TypeScript block in the documentation compiles', async () => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const files = blocks.filter(({ info }) => info === 'ts').map(write)
  expect(files.length).toBeGreaterThan(30)
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(configuration))
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = await promisify(execFile)(process.execPath, [compiler, '-p', folder]).catch(failure => failure)
  expect(inPages(stdout)).toBe('')
}, 60_000)

it('few blocks are left out of that', () => {
  expect(blocks.filter(({ info }) => info === 'ts fragment').length).toBeLessThanOrEqual(3)
  expect([...new Set(blocks.map(({ info }) => info))].toSorted()).toEqual(expect.arrayContaining(['sh', 'ts']))
  const known = new Set([
    '',
    'ts',
    'ts fragment',
    'js',
    'json',
    'sh',
    'sql',
    'text',
    'mermaid',
    'console',
    'dockerfile',
    'ini',
  ])
  expect(
    blocks.filter(({ info }) => !known.has(info)).map(({ page, line, info }) => `${page}:${line} ${info}`),
  ).toEqual([])
})

const configuration = {
  extends: '../../tsconfig.json',
  compilerOptions: {
    noUnusedLocals: false,
    noUnusedParameters: false,
    paths: {
      'geneva-drive': ['../../src/index.ts'],
      'geneva-drive/http': ['../../src/http.ts'],
      'geneva-drive/testing': ['../../src/testing.ts'],
    },
  },
  include: ['**/*.ts'],
}

/** One folder per page, so that a block can import another one of its page. */
function write(block: CodeBlock): string {
  const alone = /^import .* from 'geneva-drive/m.test(block.code)
  const before = alone ? '' : `${block.hidden}\n`
  const path = join(folder, block.page.replace(/\.md$/, ''), block.file ?? `block-${block.line}.ts`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${before}${block.code}\nexport {}\n`)
  return path
}

/** Says with each message of the compiler which block it is about. Mistakes in the source are found by the typecheck. */
function inPages(messages: string): string {
  return messages
    .replace(/^(?:\.\.\/)*src\/.*\n(?: .*\n)*/gm, '')
    .replace(/^\S*?\.build\/docs\/(\S+)\/([\w-]+\.ts)/gm, '$1.md, $2')
}
