/** How each state looks in every format, and which state speaks for several nodes drawn as one. */
import type { StateWord } from './picture.ts'

export interface StateLook {
  /** One column wide in a terminal, and never an emoji. */
  readonly mark: string
  readonly asciiMark: string
  /** The parameter of the ANSI sequence that colours it. */
  readonly ansi: string
  readonly fill: string
  readonly stroke: string
  /** Its outline is broken: it is not there to be run. */
  readonly dashed?: boolean
}

/** In the order in which counts are told: what is done first, what is left last. */
const looks: Readonly<Record<StateWord, StateLook>> = {
  completed: { mark: '✓', asciiMark: 'v', ansi: '32', fill: '#d3f9d8', stroke: '#2b8a3e' },
  skipped: { mark: '↷', asciiMark: '>', ansi: '90', fill: '#f1f3f5', stroke: '#868e96' },
  not_taken: { mark: '∅', asciiMark: '_', ansi: '90', fill: '#ffffff', stroke: '#868e96', dashed: true },
  canceled: { mark: '⊘', asciiMark: '/', ansi: '90', fill: '#dee2e6', stroke: '#495057' },
  failed: { mark: '✗', asciiMark: 'x', ansi: '31', fill: '#ffe3e3', stroke: '#c92a2a' },
  compensating: { mark: '↺', asciiMark: '<', ansi: '35', fill: '#f3d9fa', stroke: '#862e9c' },
  rolled_back: { mark: '↶', asciiMark: '~', ansi: '35', fill: '#f8f0fc', stroke: '#ae3ec9' },
  in_progress: { mark: '●', asciiMark: '*', ansi: '36', fill: '#d0ebff', stroke: '#1864ab' },
  suspended: { mark: '◐', asciiMark: '%', ansi: '33', fill: '#fff3bf', stroke: '#e67700' },
  waiting: { mark: '◔', asciiMark: '?', ansi: '33', fill: '#fff9db', stroke: '#f08c00' },
  paused: { mark: '‖', asciiMark: '=', ansi: '33', fill: '#ffe8cc', stroke: '#d9480f' },
  scheduled: { mark: '◌', asciiMark: ':', ansi: '34', fill: '#e7f5ff', stroke: '#4dabf7' },
  pending: { mark: '○', asciiMark: 'o', ansi: '90', fill: '#ffffff', stroke: '#adb5bd' },
}

/** What needs a person's eye first. */
const mostTelling: readonly StateWord[] = [
  'failed',
  'compensating',
  'paused',
  'in_progress',
  'suspended',
  'waiting',
  'scheduled',
  'pending',
  'canceled',
  'rolled_back',
  'completed',
  'skipped',
  'not_taken',
]

const words = Object.keys(looks)

export function isStateWord(word: string): word is StateWord {
  return Object.hasOwn(looks, word)
}

/** The look of a state; a word that is none, and a node without a state, look like `pending`. */
export function lookOf(state: string | null): StateLook {
  return looks[state !== null && isStateWord(state) ? state : 'pending']
}

/** The state in whose colour several nodes are drawn; `null` when none of them has one. */
export function tellingState(counts: ReadonlyMap<string, number>): string | null {
  return mostTelling.find(word => counts.has(word)) ?? [...counts.keys()][0] ?? null
}

/** How many nodes are in each state, in the order of the table; other words follow as they came. */
export function countStates(nodes: Iterable<{ readonly state?: string | null }>): Map<string, number> {
  const found = new Map<string, number>()
  for (const { state } of nodes) {
    if (state !== undefined && state !== null) found.set(state, (found.get(state) ?? 0) + 1)
  }
  if (found.size < 2) return found
  const place = (word: string) => (isStateWord(word) ? words.indexOf(word) : words.length)
  return new Map([...found].sort(([a], [b]) => place(a) - place(b)))
}
