/** Plays random sagas on a database, from a seed on, and tells how many it played and what is wrong: `saga-player URL FROM COUNT`. */
import { sagaLines, simulateSagas } from '../simulation/simulate-sagas.ts'

const [url = '', from = '', count = ''] = process.argv.slice(2)
const seeds = Array.from({ length: Number(count) }, (_, index) => Number(from) + index)
let played = 0
const failed = await simulateSagas({ url, seeds, onPlayed: () => played++ })
const database = url.split(':')[0] ?? ''
process.send?.({ played, lines: failed.flatMap(report => sagaLines(report, database)).join('\n') })
process.channel?.unref()
