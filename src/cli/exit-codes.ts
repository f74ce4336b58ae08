/** Exit codes are part of the interface: scripts and pipelines rely on them. 0 is: done, or the answer is yes. */

/** Something went wrong: the database does not answer, a workflow refuses, a file cannot be written. */
export const failed = 1

/** The command was written wrongly; nothing was done. */
export const wrongUsage = 2

/** The question was answered, and the answer is no: tables are outdated, something is stuck, nobody said yes. */
export const answerIsNo = 3

/** A person's mistake on the command line, told in one line. */
export class WrongUsage extends Error {}
