/** The verbs whose nodes wait without using a worker: `human` for people, `waitFor` for a message from outside. */
import { addNode, givenOptions } from './add-node.ts'
import type { NodeRef } from './node-ref.ts'
import { freeName, type Place } from './place.ts'
import { humanOptions, humanWait, waitSettings } from './wait-settings.ts'

export function declareHuman(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  const where = `${place.declarations.className}, step ${checked}`
  const given = givenOptions(options, where)
  const rest = Object.fromEntries(Object.entries(given).filter(([option]) => !humanOptions.includes(option)))
  const human = humanWait(given, where)
  const names = { timeout: 'deadline', schema: 'form' }
  const waitsFor = waitSettings({ timeout: given.deadline, schema: given.form }, names, where)
  return addNode(place, { name: checked, kind: 'human', body: checked, inChain: true, human, waitsFor }, rest)
}

export function declareWaitFor(place: Place, name: unknown, options: unknown): NodeRef<any> {
  const checked = freeName(place, name)
  const where = `${place.declarations.className}, step ${checked}`
  const { payload, timeout, onTimeout, ...rest } = givenOptions(options, where)
  const names = { timeout: 'timeout', schema: 'payload' }
  const waitsFor = waitSettings({ timeout, onTimeout, schema: payload }, names, where)
  return addNode(place, { name: checked, kind: 'signal', body: checked, inChain: true, waitsFor }, rest)
}
