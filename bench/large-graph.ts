/**
 * Runs one graph in a process of its own and prints what it took, peak memory included, as JSON: the memory of a process
 * that has measured other things before tells nothing. Its arguments are the database's options and the number of nodes.
 */
import { type DatabaseOptions, Geneva } from '../src/index.ts'
import { fan, idle, lap } from './graph-shapes.ts'

const [options = '', nodes = ''] = process.argv.slice(2)
const geneva = new Geneva({ database: JSON.parse(options) as DatabaseOptions, jobs: [idle] })
const measured = await lap(geneva, fan, { nodes: Number(nodes), workflows: 1 })
await geneva.close()
// In kilobytes on every platform.
process.stdout.write(JSON.stringify({ ...measured, peakMb: process.resourceUsage().maxRSS / 1024 }))
