/** The database, its driver and our own bugs. */
import { GenevaError } from './geneva-error.ts'

/** An optional database driver is not installed. */
export class DriverMissingError extends GenevaError {
  constructor(database: string, packageName: string, options?: ErrorOptions) {
    super(
      'DRIVER_MISSING',
      `${database} needs the package ${packageName}. Install it: npm install ${packageName}`,
      options,
    )
  }
}

/** The database server or library is too old, or a kind that is not supported. */
export class UnsupportedDatabaseError extends GenevaError {
  constructor(message: string) {
    super('UNSUPPORTED_DATABASE', message)
  }
}

/** The database cannot be reached, does not let this user in, or does not exist. The driver's error is its cause. */
export class DatabaseOpenError extends GenevaError {
  constructor(url: string, reason: string, remedy: string, options?: ErrorOptions) {
    super('DATABASE_OPEN', `The database ${url} could not be opened: ${reason.replace(/\.$/, '')}. ${remedy}`, options)
  }
}

/** Between this process and the server stands a pooler that hands out a connection per transaction. */
export class PooledConnectionError extends GenevaError {
  constructor(options?: ErrorOptions) {
    super(
      'POOLED_CONNECTION',
      'The database is behind a pooler that hands out a connection per transaction, like PgBouncer in transaction mode. Set `preparedStatements: false`: `new Geneva({ database: { url, preparedStatements: false } })`. Or use the URL of the server itself, or of a pooler in session mode.',
      options,
    )
  }
}

/** The tables are missing, older than the code, or newer than it can use. */
export class SchemaError extends GenevaError {
  constructor(message: string, options?: ErrorOptions) {
    super('SCHEMA', message, options)
  }
}

/** The thread that keeps the leases of a busy process is gone, or cannot reach the database. */
export class HeartbeatThreadError extends GenevaError {
  constructor(reason: string, options?: ErrorOptions) {
    super(
      'HEARTBEAT_THREAD',
      `The heartbeat thread of a worker does not do its work: ${reason}. The worker goes on and renews its lease itself, but a step that blocks the event loop for longer than the lease would lose its claim. With \`heartbeatThread: false\` no such thread is used.`,
      options,
    )
  }
}

/** This Geneva instance was closed. */
export class ClosedError extends GenevaError {
  constructor() {
    super('CLOSED', 'This Geneva instance is closed. Create a new one to go on.')
  }
}

/** A bug in Geneva Drive itself. */
export class InvariantError extends GenevaError {
  constructor(message: string) {
    super('INVARIANT', `${message} This is a bug in Geneva Drive; please report it.`)
  }
}
