/** Hints go out at once when none went out lately, and are gathered when many come. */
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { Hint } from '../../../src/store/hints.ts'
import { HintSender, restMs } from '../../../src/store/postgres/hint-sender.ts'
import { waitFor } from '../../support/wait-for.ts'

it('the first is sent before the call returns, and what comes meanwhile once, after a rest', async () => {
  const sent: { hints: readonly Hint[]; at: number }[] = []
  const sender = new HintSender(async hints => sent.push({ hints, at: performance.now() }))
  sender.send('work')
  expect(sent.map(({ hints }) => hints)).toEqual([['work']])
  for (let count = 0; count < 100; count++) sender.send(count % 2 ? 'work' : 'stop')
  await waitFor(() => sent.length === 2)
  await delay(3 * restMs)
  expect(sent.map(({ hints }) => hints.toSorted())).toEqual([['work'], ['stop', 'work']])
  expect((sent[1]?.at ?? 0) - (sent[0]?.at ?? 0)).toBeGreaterThanOrEqual(restMs - 2)
  sender.send('codeless')
  expect(sent.at(-1)?.hints).toEqual(['codeless'])
})

it('one that cannot be sent does not keep back those after it', async () => {
  let calls = 0
  const sender = new HintSender(async () => {
    calls++
    throw new Error('away')
  })
  sender.send('work')
  sender.send('work')
  await waitFor(() => calls === 2)
})
