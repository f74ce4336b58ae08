/** Whatever the documentation points at exists: pages, headings, tests and source files. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { allPages, codeBlocks, type Page, root } from './markdown.ts'

const pages = allPages()

it('every relative link leads to a file, and to a heading where it names one', () => {
  const broken = pages.flatMap(page =>
    linksIn(page).flatMap(link => {
      const [path = '', heading] = link.split('#')
      const target = path === '' ? page.path : join(dirname(page.path), path)
      if (!existsSync(join(root, target))) return [`${page.path} points at ${link}, which does not exist.`]
      if (heading === undefined || headingsIn(target).includes(heading)) return []
      return [`${page.path} points at ${link}, but ${target} has no such heading.`]
    }),
  )
  expect(broken).toEqual([])
})

it('every path of a file in the text exists', () => {
  const missing = pages.flatMap(page =>
    [...page.text.matchAll(/`((?:src|test|docs|examples|scripts)\/[\w./-]+)`/g)].flatMap(([, path = '']) =>
      existsSync(join(root, path)) ? [] : [`${page.path} names ${path}, which does not exist.`],
    ),
  )
  expect(missing).toEqual([])
})

it('every page in docs can be reached from the README', () => {
  const reached = new Set<string>()
  const queue = ['README.md']
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const page = pages.find(each => each.path === path)
    if (!page || reached.has(path)) continue
    reached.add(path)
    queue.push(...linksIn(page).map(link => join(dirname(page.path), link.split('#')[0] ?? '')))
  }
  expect(pages.map(page => page.path).filter(path => !reached.has(path))).toEqual([])
})

/** Links of Markdown outside code, without those that lead to another site. */
function linksIn(page: Page): string[] {
  let text = page.text
  for (const { code } of codeBlocks(page)) text = text.replace(code, '')
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter(link => !/^[a-z]+:/.test(link))
}

function headingsIn(path: string): string[] {
  const headings = readFileSync(join(root, path), 'utf8').match(/^#+ .+$/gm) ?? []
  return headings.map(heading =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
