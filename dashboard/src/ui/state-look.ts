/** How each state looks: a tone for its colour and a shape for its icon, so that colour never speaks alone. */

export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'undo' | 'idle' | 'off'

export interface StateLook {
  readonly tone: Tone
  readonly icon: IconName
}

export type IconName = keyof typeof iconPaths

/** Drawn in a box of 16 by 16, with a stroke. */
export const iconPaths = {
  check: 'M3.5 8.5l3 3 6-7',
  cross: 'M4 4l8 8M12 4l-8 8',
  play: 'M5 3.5v9l7.5-4.5z',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2 1.6',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  undo: 'M5.5 3L2.5 6l3 3M2.5 6h7a3.5 3.5 0 0 1 0 7H6',
  stop: 'M4 4h8v8H4z',
  skip: 'M3 4l5 4-5 4zM12.5 4v8',
  dot: 'M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  ring: 'M8 3.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z',
  letter: 'M2.5 4.5h11v7h-11zM2.5 4.5L8 9l5.5-4.5',
  person: 'M8 2.8a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8zM3.5 13c.4-2.6 2.2-4 4.5-4s4.1 1.4 4.5 4',
  fork: 'M4 2.5v4a3 3 0 0 0 3 3h2a3 3 0 0 1 3 3v1M4 9.5v4M12 2.5v3',
  branch: 'M8 2.5v4M8 6.5L4 10v3.5M8 6.5l4 3.5v3.5',
  none: 'M4 8h8',
  half: 'M8 3.5a4.5 4.5 0 1 0 0 9zM8 3.5a4.5 4.5 0 0 1 0 9',
  chart: 'M2.5 13.5v-4M6.2 13.5v-7M9.8 13.5v-5M13.5 13.5v-11',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01',
  calendar: 'M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2.5v3M10.5 2.5v3',
  stack: 'M2.5 5.5L8 2.5l5.5 3L8 8.5zM2.5 8.5l5.5 3 5.5-3M2.5 11l5.5 3 5.5-3',
  chip: 'M4.5 4.5h7v7h-7zM6.5 2v2.5M9.5 2v2.5M6.5 11.5V14M9.5 11.5V14M2 6.5h2.5M2 9.5h2.5M11.5 6.5H14M11.5 9.5H14',
  graph: 'M3.5 2.5h4v3h-4zM8.5 10.5h4v3h-4zM5.5 5.5v6.5h3',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.8v1.4M8 12.8v1.4M1.8 8h1.4M12.8 8h1.4M3.6 3.6l1 1M11.4 11.4l1 1M12.4 3.6l-1 1M4.6 11.4l-1 1',
  moon: 'M13 9.6A5.4 5.4 0 0 1 6.4 3 5.4 5.4 0 1 0 13 9.6z',
  search: 'M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2l3.3 3.3',
  help: 'M5.8 6a2.3 2.3 0 1 1 3.4 2c-.8.5-1.2.9-1.2 1.8M8 12.4h.01',
  flag: 'M4 14V2.5M4 3h8l-2 2.8 2 2.7H4',
  signal:
    'M8 9.2a1.2 1.2 0 1 0 0-2.4 1.2 1.2 0 0 0 0 2.4zM5 11a4.2 4.2 0 0 1 0-6M11 5a4.2 4.2 0 0 1 0 6M3 13A7 7 0 0 1 3 3M13 3a7 7 0 0 1 0 10',
  loop: 'M3 8a5 5 0 0 1 8.5-3.5L13 6M13 2.8V6H9.8M13 8a5 5 0 0 1-8.5 3.5L3 10M3 13.2V10h3.2',
  child: 'M2.5 2.5h5v4h-5zM8.5 9.5h5v4h-5zM5 6.5v5h3.5',
} as const

const looks: Readonly<Record<string, StateLook>> = {
  // Workflows
  ready: { tone: 'busy', icon: 'clock' },
  performing: { tone: 'busy', icon: 'play' },
  paused: { tone: 'wait', icon: 'pause' },
  dlq: { tone: 'bad', icon: 'letter' },
  rolling_back: { tone: 'undo', icon: 'undo' },
  finished: { tone: 'good', icon: 'check' },
  failed: { tone: 'bad', icon: 'cross' },
  canceled: { tone: 'off', icon: 'stop' },
  aborted: { tone: 'off', icon: 'cross' },
  // Executions and nodes
  pending: { tone: 'idle', icon: 'ring' },
  scheduled: { tone: 'busy', icon: 'clock' },
  in_progress: { tone: 'busy', icon: 'play' },
  suspended: { tone: 'wait', icon: 'half' },
  waiting: { tone: 'wait', icon: 'clock' },
  completed: { tone: 'good', icon: 'check' },
  skipped: { tone: 'off', icon: 'skip' },
  not_taken: { tone: 'off', icon: 'none' },
  compensating: { tone: 'undo', icon: 'undo' },
  rolled_back: { tone: 'undo', icon: 'undo' },
  // Dead letters and decisions
  open: { tone: 'bad', icon: 'letter' },
  requeued: { tone: 'good', icon: 'loop' },
  discarded: { tone: 'off', icon: 'stop' },
  confirmed: { tone: 'good', icon: 'check' },
  rejected: { tone: 'bad', icon: 'cross' },
  // Workers
  alive: { tone: 'good', icon: 'check' },
  silent: { tone: 'bad', icon: 'cross' },
}

const order = Object.keys(looks)

/** States in the order in which they are told everywhere; unknown ones last. */
export function inOrder(states: Readonly<Record<string, number>>): (readonly [string, number])[] {
  const place = (state: string) => (order.includes(state) ? order.indexOf(state) : order.length)
  return Object.entries(states)
    .filter(([, amount]) => amount > 0)
    .toSorted(([a], [b]) => place(a) - place(b))
}

export function lookOf(state: string | null): StateLook {
  return looks[state ?? 'pending'] ?? { tone: 'idle', icon: 'dot' }
}

const kindIcons: Readonly<Record<string, IconName>> = {
  step: 'dot',
  task: 'dot',
  resumable: 'loop',
  each: 'stack',
  item: 'dot',
  child: 'child',
  condition: 'branch',
  fork: 'fork',
  join: 'fork',
  savePoint: 'flag',
  save_point: 'flag',
  human: 'person',
  signal: 'signal',
  compensation: 'undo',
}

export function kindIcon(kind: string): IconName {
  return kindIcons[kind] ?? 'dot'
}

/** Which state speaks for several nodes drawn as one: what needs a person's eye first. */
const mostTelling = [
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

export function tellingState(states: Readonly<Record<string, number>>): string | null {
  return mostTelling.find(state => (states[state] ?? 0) > 0) ?? Object.keys(states)[0] ?? null
}
