/**
 * Interactive transactions of Prisma. Its client is refused: outside `$transaction` it runs each statement on any
 * connection.
 */
import { type Candidate, type DatabaseKind, hasMethods, type Recognized } from './recognized-handle.ts'

interface Client {
  readonly _activeProvider?: unknown
  $queryRawUnsafe(text: string, ...values: readonly unknown[]): PromiseLike<unknown>
  $executeRawUnsafe(text: string, ...values: readonly unknown[]): PromiseLike<unknown>
}

const kinds: Readonly<Record<string, DatabaseKind>> = {
  postgresql: 'postgres',
  postgres: 'postgres',
  mysql: 'mysql',
  sqlite: 'sqlite',
}

export function prismaHandle(handle: Candidate): Recognized | null {
  if (!hasMethods(handle, '$queryRawUnsafe', '$executeRawUnsafe')) return null
  const client = handle as unknown as Client
  const provider = client._activeProvider
  const kind = typeof provider === 'string' ? (kinds[provider] ?? 'other') : null
  // Only the client itself can connect; what it hands to `$transaction` cannot.
  if (hasMethods(handle, '$connect')) {
    return {
      what: 'a Prisma client',
      kind,
      refusal: 'instead of one of its transactions. Pass the one that `$transaction(async tx => ...)` hands out.',
    }
  }
  return {
    what: 'a Prisma transaction',
    kind,
    send: async ({ text, values }, wanted) =>
      wanted === 'rows' ? client.$queryRawUnsafe(text, ...values) : client.$executeRawUnsafe(text, ...values),
  }
}
