/** When a look through lanes, a part with each claim, has come past all of them. */
import { expect, it } from 'vitest'
import { LaneLooks } from '../../../src/store/lane-looks.ts'

const mail = { queue: 'mail', handler: 'Mail' }
const post = { queue: 'post', handler: 'Post' }

/** One look of a worker, in which its claims come so far. */
function look(looks: LaneLooks, ...came: readonly (readonly [typeof mail, string | null])[]): boolean {
  looks.beginLook()
  for (const [source, lane] of came) looks.cameTo(source, lane)
  return looks.isUnderWay
}

it('goes on behind the lane that it has come to, and from the end to the first', () => {
  const looks = new LaneLooks()
  expect(looks.after(mail)).toBe('')
  look(looks, [mail, 'm'])
  expect([looks.after(mail), looks.after(post)]).toEqual(['m', ''])
  look(looks, [mail, null])
  expect(looks.after(mail)).toBe('')
})

it('is under way until the end is reached', () => {
  const looks = new LaneLooks()
  expect([look(looks, [mail, 'f']), look(looks, [mail, 'm']), look(looks, [mail, null])]).toEqual([true, true, false])
})

it('is under way until each source has come to its end, however the others go on', () => {
  const looks = new LaneLooks()
  const seen = [
    look(looks, [mail, 'f'], [post, 'c']),
    look(looks, [mail, null], [post, 'f']),
    look(looks, [mail, 'f'], [post, null]),
  ]
  expect(seen).toEqual([true, true, false])
})

it('comes past what lies before the place where a round begins, too', () => {
  const looks = new LaneLooks()
  look(looks, [mail, 'm'])
  looks.beginRound()
  expect([look(looks, [mail, null]), look(looks, [mail, 'm']), look(looks, [mail, null])]).toEqual([true, true, false])
})

it('is not held up by a source that is not claimed from any more', () => {
  const looks = new LaneLooks()
  expect(look(looks, [mail, 'm'], [post, null])).toBe(true)
  expect(look(looks, [post, null])).toBe(false)
})
