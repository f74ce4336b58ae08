/**
 * Word from one process to the others, where the database can pass it on. It is never more than a hint: it may be lost, and
 * everybody looks for work by the clock as well.
 */

/** `work`: something may be due; `codeless`: also what any worker may run; `stop`: something that runs is to be stopped. */
export type Hint = 'work' | 'codeless' | 'stop'

export interface Hints {
  /** Soon, and in the background. Many are passed on as one. */
  send(hint: Hint): void
  /** From now on hears what other processes send, until the returned function is called. A line that breaks is set up again. */
  listen(listener: (hint: Hint) => void): () => void
}
