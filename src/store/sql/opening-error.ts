/** Why a database could not be opened, and what to do about it. Passwords are left out. */
import { DatabaseOpenError, InvalidArgumentError, isGenevaError } from '../../errors.ts'

const noAnswer = 'Nothing answers there: correct host and port in the URL, or let this machine through.'

const remedies: Readonly<Record<string, string>> = {
  ENOTFOUND: 'There is no host of that name: correct it in the URL.',
  EAI_AGAIN: 'The name of the host cannot be looked up: correct it in the URL, or try again.',
  ECONNREFUSED: 'Nothing listens there: start the server, or correct host and port in the URL.',
  ETIMEDOUT: noAnswer,
  EHOSTUNREACH: noAnswer,
  ENETUNREACH: noAnswer,
}

/** `remedyFor` knows the errors of one kind of database. What has a message of ours already is thrown as it is. */
export function openingError(url: string, error: unknown, remedyFor: (error: object) => string | undefined): unknown {
  if (typeof error !== 'object' || error === null || isGenevaError(error)) return error
  const { code } = error as { code?: unknown }
  // It has the whole URL in it, so it does not become the cause.
  if (code === 'ERR_INVALID_URL') {
    return new InvalidArgumentError(
      'The URL of the database cannot be read. Write characters like @, :, / and # in user and password as %40, %3A, %2F and %23.',
    )
  }
  const remedy = remedyFor(error) ?? remedies[String(code)] ?? 'Is the server running, and is the URL right?'
  return new DatabaseOpenError(withoutPassword(url), causeOf(error), remedy, { cause: error })
}

/** What stands behind a question mark may be a password, too. */
function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url.slice(0, url.indexOf(':') + 1)
  const { protocol, username, host, pathname } = new URL(url)
  const server = url.startsWith(`${protocol}//`) ? `//${username === '' ? '' : `${username}@`}${host}` : ''
  return `${protocol}${server}${pathname}`
}

/** A host with several addresses fails with an error for each. */
function causeOf(error: object): string {
  const causes: unknown[] = error instanceof AggregateError ? error.errors : [error]
  return [...new Set(causes.map(cause => (cause instanceof Error ? cause.message : String(cause))))].join('; ')
}
