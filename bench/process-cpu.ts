/** What a database server has used of the processor, read from /proc: nothing where the system has no such folder. */
import { readdir, readFile } from 'node:fs/promises'
import type { PlainConnection } from '../test/support/plain-sql.ts'
import type { BenchDatabase } from './databases.ts'

/** Linux counts in hundredths of a second, on every machine that matters. */
const tickMs = 10

interface ProcessTimes {
  readonly parent: number
  readonly own: number
  /** Of children that have ended. */
  readonly children: number
}

/** The id of the server's main process; `null` for a database without a server, or where it cannot be known. */
export async function serverProcess(kind: BenchDatabase['kind'], plain: PlainConnection): Promise<number | null> {
  if (kind === 'postgres') {
    const [row] = await plain.query('select pg_backend_pid() as id')
    return (await timesOf(Number(row?.id)))?.parent ?? null
  }
  if (kind === 'mysql') {
    const [row] = await plain.query('select @@pid_file as file')
    return Number(await readFile(String(row?.file), 'utf8'))
  }
  return null
}

/** Milliseconds, of the process and of all that it has started. */
export async function cpuOf(id: number): Promise<number> {
  const main = await timesOf(id)
  if (main === null) return Number.NaN
  let ticks = main.own + main.children
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const times = await timesOf(Number(entry))
    if (times?.parent === id) ticks += times.own
  }
  return ticks * tickMs
}

async function timesOf(id: number): Promise<ProcessTimes | null> {
  const stat = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => null)
  if (stat === null) return null
  // The name of the program stands in brackets, and may hold spaces and brackets itself.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const at = (index: number) => fields[index] ?? 0
  return { parent: at(1), own: at(11) + at(12), children: at(13) + at(14) }
}
