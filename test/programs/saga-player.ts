/** Plays random sagas on a database, from a seed on, and tells how many it played and what is wrong: `saga-player DATABASE URL FROM COUNT`. */
import { sagaLines, simulateSagas } from '../simulation/simulate-sagas.ts'

const [database = '', url = '', from = '', count = ''] = process.argv.slice(2)
const seeds = Array.from({ length: Number(count) }, (_, index) => Number(from) + index)
let played = 0
const failed = await simulateSagas({ url, seeds, onPlayed: () => played++ })
process.send?.({ played, lines: failed.flatMap(report => sagaLines(report, database)).join('\n') })
process.channel?.unref()
