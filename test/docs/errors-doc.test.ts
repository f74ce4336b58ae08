/** docs/reference/errors.md has a row for every error code, and no other. */
import { expect, it } from 'vitest'
import * as errors from '../../src/errors.ts'
import { quoted, readPage, tableUnder, unionIn } from './markdown.ts'

const rows = tableUnder(readPage('docs/reference/errors.md'), 'Codes')
const documented = new Map(rows.map(([code, errorClass]) => [quoted(code)[0], quoted(errorClass)[0]]))

it('every error code has a row in the reference, in the order of the source', () => {
  expect([...documented.keys()]).toEqual(unionIn('src/errors.ts', 'ErrorCode'))
})

it('every row names the class that has the code', () => {
  const exported = new Map(Object.entries(errors))
  const coded = [...documented].map(([code, name = '']) => {
    const source = String(exported.get(name))
    return [name, source.includes(`'${code}'`) ? code : `${name} does not have the code ${code}`]
  })
  expect(coded).toEqual([...documented].map(([code, name]) => [name, code]))
  const classes = [...exported.keys()].filter(name => name.endsWith('Error') && name !== 'GenevaError')
  expect([...documented.values()].toSorted()).toEqual(classes.filter(name => name !== 'isGenevaError').toSorted())
})
