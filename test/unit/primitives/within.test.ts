/** Waiting with an end. */
import { expect, it } from 'vitest'
import { within } from '../../../src/primitives/within.ts'

it('ends with the work', async () => {
  let done = false
  const work = Promise.resolve().then(() => {
    done = true
  })
  await within(work, 60_000)
  expect(done).toBe(true)
})

it('ends when the time is over, and leaves the work to itself', async () => {
  let finish: () => void = () => {}
  const work = new Promise<void>(resolve => {
    finish = resolve
  })
  await within(work, 5)
  finish()
  await expect(work).resolves.toBeUndefined()
})

it('takes a time that has passed for one that is over', async () => {
  await expect(within(new Promise(() => {}), -1)).resolves.toBeUndefined()
})

it('rejects as the work does', async () => {
  await expect(within(Promise.reject(new Error('no')), 60_000)).rejects.toThrow('no')
})
