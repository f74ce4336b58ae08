/**
 * Named places where a crash test kills the process, chosen by `GENEVA_FAILPOINT=name:nth` before the module loads.
 * Without that variable `failpoint` is undefined, so `failpoint?.('step.before')` costs nothing.
 */
import { InvalidArgumentError } from '../errors.ts'

/** The places that every step passes, in order. */
export const stepFailpoints = [
  'claim.before-commit',
  'claim.after-commit',
  'step.before',
  'step.inside',
  'step.after',
  'finish.before-commit',
  'finish.after-commit',
] as const

/** Every place. A compensation and a schedule have two of their own each. */
export const failpointNames = [
  ...stepFailpoints,
  'compensation.before',
  'compensation.after',
  'tick.before-commit',
  'tick.after-commit',
] as const

export type FailpointName = (typeof failpointNames)[number]

/** Ends the process with SIGKILL when it is called with the chosen name for the nth time; does nothing before. */
export const failpoint: ((name: FailpointName) => void) | undefined = armedBy(process.env.GENEVA_FAILPOINT)

function armedBy(setting: string | undefined): ((name: FailpointName) => void) | undefined {
  if (!setting) return undefined
  const [, chosen, nth] = /^([a-z.-]+):([1-9]\d{0,8})$/.exec(setting) ?? []
  if (!failpointNames.some(name => name === chosen)) {
    const message = `GENEVA_FAILPOINT is ${JSON.stringify(setting)}, expected name:nth with a name of ${failpointNames.join(', ')}.`
    throw new InvalidArgumentError(message)
  }
  let left = Number(nth)
  return name => {
    if (name !== chosen) return
    left -= 1
    if (left === 0) die()
  }
}

/** The signal may arrive a moment later; until then this thread must not run on. */
function die(): void {
  process.kill(process.pid, 'SIGKILL')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5_000)
}
