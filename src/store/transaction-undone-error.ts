/**
 * What the application's function `transactions` is thrown when its transaction is to be rolled back though nothing has failed in
 * it. An `Error`, so that it can be logged. Whoever waits for the transaction is thrown the same, whatever the function makes of it.
 */

/** `lost`: the claim does not hold any more. `unfinished`: the code has not come to its end, or is not waited for. */
export type WhyUndone = 'lost' | 'unfinished'

const messages: Readonly<Record<WhyUndone, string>> = {
  lost: 'The step belongs to another worker by now, so what it has written is undone.',
  unfinished: 'The step has not come to its end, so what it has written is undone.',
}

export class TransactionUndoneError extends Error {
  readonly why: WhyUndone

  constructor(why: WhyUndone) {
    super(messages[why])
    this.why = why
  }
}

export function isClaimLost(error: unknown): boolean {
  return error instanceof TransactionUndoneError && error.why === 'lost'
}
