/** Heroes: their ids at rest, their references, and how `start` tells which one it was given. */
import { describe, expect, test } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { decodeHeroId, defineHero, encodeHeroId, isHeroRef } from '../../../src/definition/hero.ts'
import { identifyHero } from '../../../src/definition/identify-hero.ts'
import { DefinitionError, HeroTypeError } from '../../../src/errors.ts'
import { sampleClass } from './sample-workflow.ts'

interface Animal {
  id: any
  sound?: string
}
const animals = (type: string, sound?: string) =>
  defineHero(type, {
    id: (animal: Animal) => animal.id,
    load: async id => (id === 1 ? { id } : undefined),
    ...(sound === undefined ? {} : { is: (animal: Animal) => animal.sound === sound }),
  })
const Cats = animals('Cat', 'meow')
const Dogs = animals('Dog', 'bark')
const Any = animals('Animal')

describe('the id of a hero', () => {
  test.each<[unknown, string, string]>([
    [42, '42', 'number'],
    [-1, '-1', 'number'],
    [0, '0', 'number'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991', 'number'],
    [2n ** 64n, '18446744073709551616', 'bigint'],
    [-5n, '-5', 'bigint'],
    ['0190f0f0-5f5c-7c3e-9f00-000000000001', '0190f0f0-5f5c-7c3e-9f00-000000000001', 'string'],
    ['42', '42', 'string'],
    ['naïve 🐈', 'naïve 🐈', 'string'],
    ['x'.repeat(191), 'x'.repeat(191), 'string'],
  ])('%s is stored as text and comes back the same', (id, text, kind) => {
    expect(encodeHeroId(id)).toEqual({ text, kind })
    expect(decodeHeroId(text, kind as 'number')).toBe(id)
  })

  test.each([
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    '',
    'a\0b',
    '\ud83d',
    'x'.repeat(192),
    10n ** 200n,
    undefined,
    null,
    true,
    {},
    Symbol('id'),
    new Date(0),
  ])('%s is refused', id => {
    expect(() => encodeHeroId(id)).toThrow(HeroTypeError)
    expect(() => Any.ref(id as never)).toThrow(/Animal/)
    expect(() => Any.of({ id })).toThrow(HeroTypeError)
  })

  test.each([
    ['x', 'number'],
    ['', 'bigint'],
    ['1.5', 'number'],
    ['9007199254740993', 'number'],
  ] as const)('%j is not read as a %s', (text, kind) => {
    expect(() => decodeHeroId(text, kind)).toThrow(HeroTypeError)
  })
})

describe('a hero type', () => {
  test('makes references that carry its name and cannot be changed', () => {
    const ref = Cats.ref(7)
    expect(ref).toEqual({ heroType: 'Cat', id: 7 })
    expect(isHeroRef(ref)).toBe(true)
    expect(isHeroRef({ heroType: 'Cat', id: 7 })).toBe(false)
    expect(Object.isFrozen(ref)).toBe(true)
    expect(Cats.of({ id: 7, sound: 'meow' })).toEqual(ref)
  })

  test('refuses a record that is not its own', () => {
    expect(() => Cats.of({ id: 7, sound: 'bark' })).toThrow(/not a hero of type Cat/)
    expect(() => Cats.of(7 as never)).toThrow(HeroTypeError)
    expect(() => Cats.of(null as never)).toThrow(HeroTypeError)
  })

  test('loads the record, or null when there is none', async () => {
    expect(await Cats.load(1)).toEqual({ id: 1 })
    expect(await Cats.load(2)).toBeNull()
  })

  test('lets through what the load throws', async () => {
    const Broken = defineHero('Broken', {
      id: (record: { id: number }) => record.id,
      load: () => {
        throw new Error('no connection')
      },
    })
    await expect(Broken.load(1)).rejects.toThrow('no connection')
  })

  test.each<[string, any, any]>([
    ['an empty name', '', { id: () => 1, load: () => null }],
    ['a name that is no text', 5, { id: () => 1, load: () => null }],
    ['a name that is too long', 'x'.repeat(192), { id: () => 1, load: () => null }],
    ['a name with NUL', 'a\0', { id: () => 1, load: () => null }],
    ['no id', 'Cat', { load: () => null }],
    ['no load', 'Cat', { id: () => 1 }],
    ['an is that is no function', 'Cat', { id: () => 1, load: () => null, is: true }],
    ['no options', 'Cat', undefined],
  ])('is refused with %s', (_what, type, options) => {
    expect(() => defineHero(type, options)).toThrow(DefinitionError)
  })
})

describe('the hero given to start', () => {
  const withHeroes = (...types: unknown[]) => definitionOf(sampleClass(w => types.length > 0 && w.heroes(...types)))

  test('is a reference of a declared type', () => {
    expect(identifyHero(withHeroes(Cats, Dogs), Dogs.ref('rex'))).toEqual({
      type: 'Dog',
      idText: 'rex',
      idKind: 'string',
    })
  })

  test('is a record of the only type', () => {
    expect(identifyHero(withHeroes(Any), { id: 5n })).toEqual({ type: 'Animal', idText: '5', idKind: 'bigint' })
  })

  test('is a record that one of several types recognises', () => {
    expect(identifyHero(withHeroes(Cats, Dogs), { id: 5, sound: 'bark' })).toMatchObject({ type: 'Dog', idText: '5' })
  })

  test('may be left out when the class has no hero type, or may outlive its hero', () => {
    expect(identifyHero(withHeroes(), undefined)).toBeNull()
    const outliving = definitionOf(sampleClass(w => [w.heroes(Cats), w.mayOutliveHero()]))
    expect(identifyHero(outliving, null)).toBeNull()
    expect(() => identifyHero(withHeroes(Cats), null)).toThrow(/^Sample needs a hero \(Cat\)/)
  })

  test.each<[string, () => any, unknown, RegExp]>([
    [
      'a reference of another type',
      () => withHeroes(Cats),
      Dogs.ref(1),
      /Sample does not accept heroes of type Dog, only Cat/,
    ],
    [
      'a record that is none of the types',
      () => withHeroes(Cats, Dogs),
      { id: 1 },
      /Sample is none of its hero types \(Cat, Dog\)/,
    ],
    ['a record that is not of the only type', () => withHeroes(Cats), { id: 1 }, /none of its hero types \(Cat\)/],
    [
      'a record that two types recognise',
      () => withHeroes(Cats, animals('Tiger', 'meow')),
      { id: 1, sound: 'meow' },
      /Cat, Tiger alike/,
    ],
    ['a record for a class without hero types', () => withHeroes(), { id: 1 }, /declares no hero type/],
    ['a bare id', () => withHeroes(Any), 42, /none of its hero types \(Animal\): 42/],
    ['a record that was never saved', () => withHeroes(Any), {}, /undefined cannot be the id/],
    ['a record with an id that cannot be stored', () => withHeroes(Any), { id: 'a\0' }, /NUL/],
  ])('is refused when it is %s', (_what, definition, hero, message) => {
    expect(() => identifyHero(definition(), hero)).toThrow(message)
    expect(() => identifyHero(definition(), hero)).toThrow(HeroTypeError)
  })
})
