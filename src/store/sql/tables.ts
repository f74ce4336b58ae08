/**
 * The names of our tables. Prefix and schema come from configuration, so they are validated before they become text.
 */
import { InvalidArgumentError } from '../../errors.ts'
import { raw, type Sql } from './sql.ts'

export interface TableOptions {
  readonly prefix?: string
  readonly schema?: string
}

export interface Tables {
  readonly prefix: string
  readonly schema: string | null
  readonly workflows: Sql
  readonly active: Sql
  readonly fanIns: Sql
  readonly graphs: Sql
  readonly watches: Sql
  readonly letters: Sql
  readonly decisions: Sql
  readonly signals: Sql
  readonly history: Sql
  readonly events: Sql
  readonly tags: Sql
  readonly definitions: Sql
  readonly workers: Sql
  readonly schedules: Sql
  readonly limits: Sql
  readonly requests: Sql
  readonly migrations: Sql
  readonly ids: Sql
  /** The text of a table's qualified name. */
  name(table: string): string
}

const identifier = /^[a-z_][a-z0-9_]{0,29}$/

/** Refuses anything but short lower-case identifiers. */
export function tables(options: TableOptions): Tables {
  const prefix = options.prefix ?? 'geneva_drive_'
  const schema = options.schema ?? null
  for (const [what, value] of [
    ['prefix', prefix],
    ['schema', schema],
  ] as const) {
    if (value !== null && !identifier.test(value)) {
      throw new InvalidArgumentError(
        `The ${what} ${JSON.stringify(value)} is not allowed. Use up to 30 lower-case letters, digits and underscores, not beginning with a digit.`,
      )
    }
  }
  const name = (table: string) => (schema === null ? `${prefix}${table}` : `${schema}.${prefix}${table}`)
  return {
    prefix,
    schema,
    name,
    workflows: raw(name('workflows')),
    active: raw(name('active_executions')),
    fanIns: raw(name('fan_ins')),
    graphs: raw(name('graphs')),
    watches: raw(name('watches')),
    letters: raw(name('dead_letters')),
    decisions: raw(name('decisions')),
    signals: raw(name('signals')),
    history: raw(name('step_executions')),
    events: raw(name('events')),
    tags: raw(name('tags')),
    definitions: raw(name('definitions')),
    workers: raw(name('workers')),
    schedules: raw(name('schedules')),
    limits: raw(name('limits')),
    requests: raw(name('requests')),
    migrations: raw(name('migrations')),
    ids: raw(name('ids')),
  }
}
