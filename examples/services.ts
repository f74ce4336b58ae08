/** The outside world of the examples: slow like every network, and failing where the story wants it to. */
import { setTimeout as pass } from 'node:timers/promises'

/** Long enough to be watched. Tests are in a hurry. */
const usualMs = process.env.GENEVA_DEMO_HURRY ? 20 : 350

export async function sendMail(_to: string, _subject: string): Promise<void> {
  await pass(usualMs)
}

/** Deduplicates by `key`, as payment services do: two calls with one key charge once. */
export async function chargeCard(cents: number, call: { key: string; down: boolean }): Promise<{ paymentId: string }> {
  await pass(usualMs)
  if (call.down) throw new Error('the gateway did not answer')
  return { paymentId: `pay_${call.key.slice(0, 8)}_${cents}` }
}

export async function lookUpTaxRate(country: string, call: { missing: boolean }): Promise<number> {
  await pass(usualMs)
  if (call.missing) throw new Error(`no tax rate for ${country}`)
  return 0.21
}

export async function reserveItems(items: readonly string[]): Promise<number> {
  await pass(usualMs)
  return items.length
}

/** Packing by hand can take a minute. It stops early when the signal says so. */
export async function packParcel(call: { byHand: boolean; signal: AbortSignal }): Promise<{ parcel: string }> {
  await pass(call.byHand ? 60_000 : usualMs, undefined, { signal: call.signal })
  return { parcel: 'parcel-1' }
}

export async function handToCourier(parcel: string): Promise<{ trackingCode: string }> {
  await pass(usualMs)
  return { trackingCode: `track-${parcel}` }
}
