/**
 * What a worker keeps, with garbage collected: of the steps that it has run, over a million of them, and of what stands in line, beside
 * 200,000 workflows that stood there before it began.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type BenchDatabase, inFreshPlace } from '../databases.ts'
import type { Look, Looks, Task } from '../memory-program.ts'
import type { Case, Measurement, Workload } from '../workload.ts'

const program = fileURLToPath(new URL('../memory-program.js', import.meta.url))

/** In a process of its own, whose memory nobody else has used. */
async function inProcess(place: BenchDatabase, task: Task, workflows: number): Promise<Looks> {
  const args = ['--expose-gc', program, JSON.stringify(place), task, String(workflows)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [told, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`The process whose memory is measured ended with ${code}.`)
  return JSON.parse(told)
}

/** Both kinds of memory at one look. */
function told(look: Look, when: string): Measurement[] {
  return [
    { what: `heap ${when}`, value: look.heapMb, unit: 'MB' },
    { what: `resident memory ${when}`, value: look.residentMb, unit: 'MB' },
  ]
}

/** How much more there was than at the first look, at most; and the peak of the process, whoever looked. */
function growth({ looks: [first, ...rest], peakMb }: Looks): Measurement[] {
  const since = (of: keyof Look) => Math.max(...rest.map(look => look[of])) - (first?.[of] ?? Number.NaN)
  return [
    { what: 'highest growth of the heap since', value: since('heapMb'), unit: 'MB' },
    { what: 'highest growth of resident memory since', value: since('residentMb'), unit: 'MB' },
    { what: 'resident memory at its peak', value: peakMb, unit: 'MB' },
  ]
}

/** Workflows are started as they are worked off, so the tables hold little that is due. */
const million: Case = {
  name: 'a million steps',
  measure: (database, size) =>
    inFreshPlace(database, async place => {
      const seen = await inProcess(place, 'goOn', size === 'full' ? 200_000 : 200)
      return [...seen.looks.slice(0, 1).flatMap(look => told(look, 'after a tenth')), ...growth(seen)]
    }),
}

const moments = ['before the worker begins', 'in the beginning', 'in the middle', 'at the end']

/** All stand in line before the worker begins, put there by another process. */
const backlog: Case = {
  name: 'a backlog',
  measure: (database, size) =>
    inFreshPlace(database, async place => {
      const workflows = size === 'full' ? 200_000 : 200
      await inProcess(place, 'start', workflows)
      const seen = await inProcess(place, 'workOff', workflows)
      return [...seen.looks.flatMap((look, index) => told(look, moments[index] ?? '')), ...growth(seen)]
    }),
}

export const workload: Workload = {
  about: 'Memory of a worker over a million steps, and beside a line of 200,000 workflows, with garbage collected.',
  cases: [million, backlog],
}
