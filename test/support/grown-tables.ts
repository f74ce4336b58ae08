/** Fills the tables of a store with the past, and with work that nobody looks at, in one statement per table. */
import type { Database, KeyType } from '../../src/store/sql/dialect.ts'
import { raw } from '../../src/store/sql/sql.ts'
import type { DatabaseName } from './databases.ts'

export interface Growth {
  readonly name: DatabaseName
  readonly keyType: KeyType
  /** Workflows from one number up to another, which is not among them. */
  readonly from: number
  readonly to: number
}

const digits = `(select 0 as d${[1, 2, 3, 4, 5, 6, 7, 8, 9].map(digit => ` union all select ${digit}`).join('')})`

/** One of ten has not ended: half of those run in other hands, the others stand in line for later. */
export async function growTables(database: Database, { name, keyType, from, to }: Growth): Promise<void> {
  const places = ['a', 'b', 'c', 'e', 'f']
  const value = places.map((place, index) => `${10 ** index} * ${place}.d`).join(' + ')
  const joined = places.map(place => `${digits} ${place}`).join(' cross join ')
  const numbers = `(select ${value} as n from ${joined}) s where n >= ${from} and n < ${to}`
  const id = (offset: number) => idOf(name, keyType, `n + ${offset}`)
  const began = 'n + 1700000000000000'
  const isOpen = (n: string) => `${n} % 10 = 0`
  for (const statement of [
    `insert into geneva_drive_workflows (id, type, hero_type, hero_id, hero_id_kind, state, allow_multiple, generation, finishing,
        crooked, open_letters, watched, lane, created_at, ended_at)
      select ${id(0)}, 'Past', 'User', concat('past ', n), 'string', case when ${isOpen('n')} then 'ready' else 'finished' end, 0, 1, 0,
        0, 0, 0, '', ${began}, case when ${isOpen('n')} then null else ${began} end from ${numbers}`,
    `insert into geneva_drive_step_executions (id, workflow_id, node, kind, attempt, ordinal, state, outcome, created_at, due_at, ended_at,
        completed_iterations, runs, ancestry_hash, parents)
      select ${id(200_000)}, ${id(0)}, 'one', 'forward', 1, 1, 'completed', 'success', ${began}, ${began}, ${began}, 0, 1, 'hash', ''
      from ${numbers}`,
    `insert into geneva_drive_events (workflow_id, type, execution_id, at)
      select ${id(0)}, 'step.completed', ${id(200_000)}, ${began} from ${numbers}`,
    `insert into geneva_drive_active_executions (workflow_id, slot, id, node, kind, attempt, ordinal, state, queue, handler, lane, generation,
        priority, created_at, due_at, sort_key, owner, fence, failures, crashes, start_mark, completed_iterations, runs, ancestry_hash, parents)
      select ${id(0)}, '', ${id(400_000)}, 'two', 'forward', 1, 2, case when n % 20 = 0 then 'scheduled' else 'in_progress' end, 'default',
        'Sample', '', 1, 0, ${began}, n + 4000000000000000, case when n % 20 = 0 then n + 4000000000000000 end,
        case when n % 20 = 0 then null else 'w9' end, 1, 0, 0, 0, 0, 1, 'hash', '' from ${numbers} and ${isOpen('n')}`,
    `insert into geneva_drive_fan_ins (workflow_id, node, open_parents) select ${id(0)}, 'join', 2 from ${numbers} and ${isOpen('n')}`,
    `insert into geneva_drive_graphs (workflow_id, signature, graph) select ${id(0)}, 's', '{}' from ${numbers} and ${isOpen('n')}`,
    `insert into geneva_drive_watches (workflow_id, watcher_id, node, timer_id) select ${id(0)}, ${id(1)}, 'two', ${id(600_000)}
      from ${numbers} and ${isOpen('n')}`,
    `insert into geneva_drive_tags (tag, workflow_id) select concat('tag ', n), ${id(0)} from ${numbers} and ${isOpen('n')}`,
  ]) {
    await database.run(raw(statement))
  }
}

/** Beyond all that a store of a test hands out. */
function idOf(name: DatabaseName, keyType: KeyType, number: string): string {
  if (keyType === 'bigint') return `${number} + 1000000000000`
  const shown = {
    sqlite: `printf('%012d', ${number})`,
    postgres: `lpad((${number})::text, 12, '0')`,
    mysql: `lpad(${number}, 12, '0')`,
  }[name]
  return `${name === 'postgres' ? '(' : ''}concat('00000000-0000-7000-8000-', ${shown})${name === 'postgres' ? ')::uuid' : ''}`
}

const tables = ['workflows', 'step_executions', 'events', 'active_executions', 'fan_ins', 'graphs', 'tags', 'watches']

export async function emptyTables(database: Database, name: DatabaseName): Promise<void> {
  if (name === 'postgres')
    await database.run(raw(`truncate ${tables.map(table => `geneva_drive_${table}`).join(', ')}`))
  else {
    const empty = name === 'mysql' ? 'truncate' : 'delete from'
    for (const table of tables) await database.run(raw(`${empty} geneva_drive_${table}`))
  }
}
