/** How steps and jobs say what comes next: by throwing, and by having it recorded, so that a `catch` cannot undo it. */
import { InvalidArgumentError } from '../errors.ts'
import { type Duration, toMilliseconds } from '../primitives/duration.ts'
import { FlowControl, type FlowControlAction, type FlowControlOptions } from './flow-control.ts'
import type { StepContext } from './step-context.ts'

/** The first one counts: what is thrown is what is recorded, even if an earlier throw was swallowed. */
export function steer(context: StepContext, action: FlowControlAction, options: FlowControlOptions): never {
  context.flowControl ??= new FlowControl(action, options)
  throw context.flowControl
}

export interface RestartOptions {
  /** How long the first step waits, besides its own wait. */
  readonly wait?: Duration
}

export function restart(context: StepContext, input: unknown, options: RestartOptions = {}): never {
  const waitMs = options.wait === undefined ? 0 : toMilliseconds(options.wait, 'The wait of a restart')
  return steer(context, 'restart', { waitMs, result: input })
}

export interface ReattemptOptions {
  readonly wait?: Duration
  readonly rewind?: boolean
}

export function reattempt(context: StepContext, options: ReattemptOptions = {}): never {
  const waitMs = options.wait === undefined ? 0 : toMilliseconds(options.wait, 'The wait of a reattempt')
  return steer(context, 'reattempt', { waitMs, rewind: options.rewind === true })
}

/** Without a wait it would be claimed again at once, for ever. */
export function postpone(context: StepContext, wait: Duration, reason?: string): never {
  const waitMs = toMilliseconds(wait, 'The wait of a postponed step')
  if (waitMs <= 0) throw new InvalidArgumentError('A step cannot be postponed by nothing. Say for how long.')
  return steer(context, 'postpone', { waitMs, reason })
}
