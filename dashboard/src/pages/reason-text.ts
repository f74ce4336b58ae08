/** Why a node does not run, in words, with moments as machines write them: `Sentence` makes them readable. A reason that is not known here, from a newer server, is told by its name. */
import { count, span, words } from '../ui/wording.ts'

type Reason = { readonly kind: string } & Readonly<Record<string, unknown>>

export function reasonText(reason: Reason): string {
  const tell = sentences[reason.kind]
  return tell === undefined ? words(reason.kind) : tell(reason)
}

const sentences: Readonly<Record<string, (reason: Reason) => string>> = {
  paused: ({ by, reason }) => `the workflow is paused${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}`,
  stopping: ({ how }) => `the workflow is ${how}: nothing new starts`,
  lost: () => 'the newest code does not have it any more',
  dependencies: ({ open }) => `waits for ${list(open)}`,
  failed: ({ attempt, why, error }) => `failed at attempt ${attempt}, ${words(String(why))}${because(error)}`,
  claimed: ({ host, since, alive }) =>
    alive === false
      ? 'its worker has fallen silent: another takes over'
      : `runs${host ? ` on ${host}` : ''}${when(' since', since)}`,
  child: ({ workflowId }) => `waits for workflow ${workflowId}`,
  items: ({ open }) => `${count(Number(open))} of its items are not done`,
  place: ({ limit }) => `waits until another item is done${limit ? `: ${limit} run at once` : ''}`,
  people: ({ prompt, assignTo, quorum, confirmedBy, until }) =>
    `${list(assignTo) || 'somebody'} has to decide${confirmations(quorum, confirmedBy)}${when(' until', until)}${prompt ? `: ${prompt}` : ''}`,
  signal: ({ name }) => `waits for the signal ${name}`,
  outside: () => 'waits for something outside',
  backoff: ({ failures, attempts, until, error }) =>
    `failed ${failures} ${Number(failures) === 1 ? 'time' : 'times'}${attempts ? ` of ${attempts}` : ''}, tried again${when('', until)}${because(error)}`,
  time: ({ until }) => `due${when('', until)}`,
  no_worker: ({ handler, since }) => `due, but no live worker has the code of ${handler}${when(' since', since)}`,
  queue_paused: ({ queue, by, reason }) =>
    `its queue ${queue} is paused${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}`,
  limit: ({ of, name, most, perMs }) =>
    `the ${of} ${name} has no room: ${most} ${perMs ? `may begin in ${span(Number(perMs))}` : 'run at once'}`,
  not_scheduled: () => 'is brought in line with new code first',
}

function list(names: unknown): string {
  if (!Array.isArray(names)) return ''
  const more = names.length > 5 ? ` and ${count(names.length - 5)} more` : ''
  return `${names.slice(0, 5).join(', ')}${more}`
}

/** Of one person nobody counts. */
function confirmations(quorum: unknown, confirmedBy: unknown): string {
  if (!Array.isArray(confirmedBy) || Number(quorum) < 2) return ''
  return ` (${confirmedBy.length} of ${quorum} confirmed${confirmedBy.length > 0 ? `: ${list(confirmedBy)}` : ''})`
}

function when(word: string, iso: unknown): string {
  return typeof iso === 'string' ? `${word} ${iso}` : ''
}

function because(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? `: ${error.message}` : ''
}
