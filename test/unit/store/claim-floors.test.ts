/** Claims begin at the smallest key of the one before, but for looks that may take a part of the time only. */
import { beforeEach, describe, expect, it } from 'vitest'
import { beginning, ClaimFloors } from '../../../src/store/sql/claim-floors.ts'

const source = { queue: 'default', handler: 'Sample', generation: 1 }
const other = { ...source, handler: 'Other' }

describe('the floor of a claim', () => {
  let now = 0
  let floors = new ClaimFloors(() => now)
  let looks: number[] = []

  beforeEach(() => {
    now = 0
    floors = new ClaimFloors(() => now)
    looks = []
  })

  /** A claim whose every look takes so long and finds rows from this key on. Returns the floors that it looked from. */
  async function claim(smallest: number | null, { ms = 100, sources = [source], margin = 0 } = {}): Promise<number[]> {
    looks = []
    await floors.claim({ sources, margin }, async floor => {
      looks.push(floor)
      now += ms
      return { claimed: [], smallest }
    })
    return looks
  }

  it('is the beginning as long as looks from there take little of the time', async () => {
    for (let key = 0; key < 500; key++) {
      expect(await claim(key, { ms: 4 })).toEqual([beginning])
      now += 46
    }
  })

  it('is the beginning as long as such looks are quick, however often they come', async () => {
    for (let key = 0; key < 500; key++) expect(await claim(key, { ms: 9 })).toEqual([beginning])
  })

  it('lies lower by as much as a priority may be worth', async () => {
    for (let key = 1001; key <= 1020; key++) await claim(key)
    expect(await claim(1021, { margin: 300 })).toEqual([720])
    expect(await claim(1022, { margin: 300 })).toEqual([721])
  })

  it('is the smallest key of the claim before, once they have taken more than their part', async () => {
    const from: number[] = []
    for (let key = 1; key <= 20; key++) from.push(...(await claim(key)))
    expect(from.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => beginning))
    expect(from.slice(-5)).toEqual([15, 16, 17, 18, 19])
  })

  it('is the beginning as often as a fiftieth of the time allows', async () => {
    for (let key = 1; key <= 20; key++) await claim(key)
    const begun = now
    const from: number[] = []
    for (let key = 21; key <= 420; key++) from.push(...(await claim(key)))
    const looks = from.filter(floor => floor === beginning).length
    expect((looks * 100) / (now - begun)).toBeCloseTo(0.02, 2)
  })

  it('is the beginning every half a minute at least, however long such looks take', async () => {
    for (const key of [2, 3]) await claim(key, { ms: 100_000 })
    const from: number[] = []
    for (let key = 4; key <= 303; key++) from.push(...(await claim(key, { ms: 100 })))
    expect(from.indexOf(beginning)).toBe(-1)
    expect(await claim(304)).toEqual([beginning])
  })

  it.each([1100, 2000, 60_000])('is not raised by a single look of %d ms among quick ones', async ms => {
    for (let key = 1; key <= 20; key++) await claim(key, { ms: 1 })
    await claim(21, { ms })
    for (let key = 22; key <= 40; key++) expect(await claim(key, { ms: 1 })).toEqual([beginning])
  })

  it('is the beginning before a claim comes back with nothing', async () => {
    for (let key = 1; key <= 20; key++) await claim(key)
    expect(await claim(null)).toEqual([20, beginning])
  })

  it('sinks again when a look from the beginning finds a smaller key', async () => {
    for (const key of [119, 120]) await claim(key, { ms: 5000 })
    expect(await claim(121)).toEqual([120])
    now += 30_000
    expect(await claim(7, { ms: 5000 })).toEqual([beginning])
    expect(await claim(8)).toEqual([7])
  })

  it('is of one set of lines: others are looked at from the beginning, and cost these nothing', async () => {
    for (const key of [19, 20]) await claim(key, { ms: 5000 })
    for (let key = 30; key < 40; key++) {
      expect(await claim(key, { ms: 15, sources: [source, other] })).toEqual([beginning])
    }
    expect(await claim(21)).toEqual([20])
  })
})
