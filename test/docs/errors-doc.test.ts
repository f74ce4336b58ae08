/** docs/reference/errors.md has a row for every error code, and no other. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { quoted, readPage, root, tableUnder, unionIn } from './markdown.ts'

const rows = tableUnder(readPage('docs/reference/errors.md'), 'Codes')
const documented = new Map(rows.map(([code, errorClass]) => [quoted(code)[0], quoted(errorClass)[0]]))

it('every error code has a row in the reference, in the order of the source', () => {
  expect([...documented.keys()]).toEqual(unionIn('src/errors/geneva-error.ts', 'ErrorCode'))
})

it('every row names the class that has the code', () => {
  const files = readdirSync(join(root, 'src/errors'))
  const source = files.map(file => readFileSync(join(root, 'src/errors', file), 'utf8')).join('\n')
  const coded = source.matchAll(/export class (\w+) extends GenevaError \{.*?super\(\s*'(\w+)'/gs)
  expect([...documented].toSorted()).toEqual([...coded].map(([, name, code]) => [code, name]).toSorted())
})
