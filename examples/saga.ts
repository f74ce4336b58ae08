/**
 * Three purchases: a small one, one that is approved and cannot be shipped, one that is rejected. Needs no worker
 * process and no server; the exit code says whether all ended as they should.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Geneva } from '../src/index.ts'
import { Purchase } from './workflows/purchase.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-saga-'))
const geneva = new Geneva({ database: `sqlite:${join(folder, 'saga.db')}`, workflows: [Purchase], onError: () => {} })

try {
  const ann = await geneva.start(Purchase, { input: { buyer: 'Ann', cents: 4_200, to: 'Delft' } })
  const ben = await geneva.start(Purchase, { input: { buyer: 'Ben', cents: 250_000, to: 'the moon' } })
  const cleo = await geneva.start(Purchase, { input: { buyer: 'Cleo', cents: 990_000, to: 'Ghent' } })
  for (const purchase of [ann, ben, cleo]) await geneva.runDue({ workflowId: purchase.id })

  console.log('\nwhat a cancel of Ben would undo now:')
  for (const { step, compensation } of await ben.previewRollback()) console.log(`- ${step}, by ${compensation}`)

  console.log('\nthe office decides')
  await ben.decide('approve', { decision: 'confirmed', by: 'Dora', comment: 'a good customer' })
  await geneva.runDue()
  await cleo.decide('approve', { decision: 'rejected', by: 'Dora', comment: 'never heard of her' })
  await geneva.runDue()

  console.log('\nhow they ended')
  for (const purchase of [ann, ben, cleo]) {
    const steps = await purchase.nodesWithState()
    console.log(`${(await purchase.refresh()).state}: ${steps.map(({ name, state }) => `${name} ${state}`).join(', ')}`)
  }
  const ends = [ann, ben, cleo].map(({ state }) => state)
  process.exitCode = ends.join() === 'finished,failed,failed' ? 0 : 1
} finally {
  await geneva.close()
  rmSync(folder, { recursive: true, force: true })
}
