/** docs/internals/promises.md names a test for every promise, and those tests are there; so are those that other pages name. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { allPages, quoted, readPage, root, tableUnder } from './markdown.ts'

const rows = tableUnder(readPage('docs/internals/promises.md'), 'Promises and their tests')

it('every promise has tests', () => {
  const promises = rows.flatMap(([promise]) => /^P\d/.exec(promise ?? '') ?? [])
  expect([...new Set(promises)]).toEqual(['P1', 'P2', 'P3', 'P4', 'P5', 'P6', 'P7'])
})

it('every test that shows a promise goes by the words of the page, and runs on more than one database', () => {
  for (const [, file, name] of rows) {
    const text = readFileSync(join(root, quoted(file)[0] ?? ''), 'utf8')
    const [, words = ''] = /^\*(.+)\*$/.exec(name ?? '') ?? []
    const called = [`it('${words}`, `it(\`${words}`].some(call => text.includes(call))
    expect({ file, name, called }).toEqual({ file, name, called: true })
    expect(text).toMatch(/forEach(?:Database|Server)/)
  }
})

it('every test file that a page names is there', () => {
  const named = allPages().flatMap(({ path, text }) =>
    [...text.matchAll(/`(test\/[\w/-]+\.test\.ts)`/g)].map(([, file = '']) => ({ path, file })),
  )
  expect(named.length).toBeGreaterThan(60)
  expect(named.filter(({ file }) => !existsSync(join(root, file)))).toEqual([])
})
