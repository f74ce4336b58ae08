/** Proves that the house rules find what they should: a rule that never fails protects nothing. */
import { describe, expect, it } from 'vitest'
import {
  bigFunctions,
  deadFiles,
  forbiddenWords,
  importCycle,
  importsAgainstDirection,
  importsOfForeignPackages,
  longFiles,
  poorFileNames,
  withoutOpeningComment,
} from './architecture-rules.ts'
import { parseSource } from './source-file.ts'

const layers = [
  { name: 'low', files: /^src\/low\//, mayImport: [] },
  { name: 'high', files: /^src\/high\//, mayImport: ['low'], mayLoad: ['lazy'] },
  { name: 'lazy', files: /^src\/lazy\//, mayImport: ['low'] },
]
const file = (path: string, text = '') => parseSource(path, text)

describe('a source file', () => {
  it('knows its imports of every kind', () => {
    const text = `
      import type { A } from './a.ts'
      import { b } from '../b.ts'
      export * from './c.ts'
      export { d } from 'package/d'
      const e = () => import('./e.ts')
      type F = import('./f.ts').F
      // import './comment.ts'
      const text = "import './string.ts'"`
    expect(file('src/low/x.ts', text).imports).toEqual([
      { specifier: './a.ts', file: 'src/low/a.ts', dynamic: false },
      { specifier: '../b.ts', file: 'src/b.ts', dynamic: false },
      { specifier: './c.ts', file: 'src/low/c.ts', dynamic: false },
      { specifier: 'package/d', file: undefined, dynamic: false },
      { specifier: './e.ts', file: 'src/low/e.ts', dynamic: true },
      { specifier: './f.ts', file: 'src/low/f.ts', dynamic: false },
    ])
  })

  it('knows the length and parameters of functions and methods', () => {
    const text = 'class C {\n  method(this: C, a = 1, ...b: number[]) {\n    return (x: number) => x\n  }\n}'
    expect(file('src/low/x.ts', text).functions).toEqual([
      { line: 2, lines: 3, parameters: 2 },
      { line: 3, lines: 1, parameters: 1 },
    ])
  })
})

describe('the rules about imports', () => {
  it('find an import against the direction, and one of what may only be loaded', () => {
    const files = [
      file('src/low/a.ts', "import type { B } from '../high/b.ts'"),
      file('src/high/b.ts', "import '../low/a.ts'\nimport '../lazy/c.ts'\nawait import('../lazy/c.ts')"),
      file('src/lazy/c.ts', "import './d.ts'"),
      file('src/stray.ts'),
    ]
    expect(importsAgainstDirection(files, layers)).toEqual([
      'src/low/a.ts (low) imports src/high/b.ts (high).',
      'src/high/b.ts (high) imports src/lazy/c.ts (lazy).',
      'src/stray.ts belongs to no layer: put it into one of the folders, or add a layer.',
    ])
  })

  it('find a cycle among files that lead to it and from it', () => {
    const files = [
      file('a.ts', "import './b.ts'"),
      file('b.ts', "import './c.ts'"),
      file('c.ts', "import './d.ts'\nimport './b.ts'"),
      file('d.ts'),
    ]
    expect(importCycle(files)).toEqual(['b.ts -> c.ts -> b.ts'])
    expect(importCycle(files.slice(2))).toEqual([])
  })

  it('find a package outside its owner, by its subpath too', () => {
    const owners = [{ packages: ['driver'], files: /^src\/low\// }]
    const files = [
      file('src/low/a.ts', "import 'driver'"),
      file('src/high/b.ts', "import 'driver/x'\nimport 'drivers'"),
    ]
    expect(importsOfForeignPackages(files, owners)).toEqual(['src/high/b.ts imports driver/x.'])
  })

  it('find files that only dead files import', () => {
    const files = [file('a.ts', "import './b.ts'"), file('b.ts'), file('c.ts', "import './d.ts'"), file('d.ts')]
    expect(deadFiles(files, ['a.ts', 'missing.ts'])).toEqual([
      'c.ts is reached from no entry point.',
      'd.ts is reached from no entry point.',
    ])
  })
})

describe('the rules about shape', () => {
  it('find a long file, a long function and one with many parameters', () => {
    const text = `function f(a, b, c) {\n${'  a()\n'.repeat(5)}}\n`
    expect(longFiles([file('a.ts', text)], 6)).toEqual(['a.ts has 7 lines, the limit is 6.'])
    expect(longFiles([file('a.ts', text)], 7)).toEqual([])
    expect(bigFunctions([file('a.ts', text)], { lines: 6, parameters: 2 })).toHaveLength(2)
    expect(bigFunctions([file('a.ts', text)], { lines: 7, parameters: 3 })).toEqual([])
  })

  it('find names that are taken, vague or not in kebab-case', () => {
    const paths = ['src/a/one.ts', 'src/b/one.ts', 'src/Two.ts', 'src/date-utils.ts', 'src/a/index.ts', 'src/index.ts']
    expect(poorFileNames(paths.map(path => file(path)))).toEqual([
      'src/b/one.ts has the same name as src/a/one.ts.',
      'src/Two.ts is not in kebab-case.',
      'src/date-utils.ts does not say what it holds.',
    ])
  })

  it('find a file without an opening comment', () => {
    const files = [
      file('a.ts', '/** What. */\n'),
      file('b.ts', '#!/usr/bin/env node\n/** What. */'),
      file('c.ts', '// What'),
    ]
    expect(withoutOpeningComment(files)).toEqual(['c.ts does not open with a doc comment that says what it is for.'])
  })

  it('find a word in names, strings and templates, but not in comments', () => {
    const text = [
      '// oracle',
      'const oracleUrl = 1',
      "const a = 'an Oracle'",
      'const b = `oracle`',
      "import './oracle.ts'",
    ].join('\n')
    expect(forbiddenWords([file('a.ts', text)], /oracle/i)).toEqual([
      'a.ts:2 names oracle.',
      'a.ts:3 names Oracle.',
      'a.ts:4 names oracle.',
      'a.ts:5 names oracle.',
    ])
  })
})
