/** Which fan-ins are let go together: as many at once as the workers of a run have room for. */

/** A fan-in to be started. A diamond is one of a class, all others are built at run time. */
export interface Round {
  readonly kind: 'diamond' | 'wide'
  readonly width: number
  /** Some parents skip themselves, and some fail once. */
  readonly mixed: boolean
}

export type Wave = readonly Round[]

/** How many parents stand at the barrier at most. */
export const maxParents = 1000

export const diamond: Round = { kind: 'diamond', width: 2, mixed: false }

export function wide(width: number, mixed = false): Round {
  return { kind: 'wide', width, mixed }
}

const widths = [2, 3, 5, 10, 50, 200, 1000]

/** Diamonds and fan-ins of every width in turn, every second one with parents that skip or fail once. */
export function cycleOf(rounds: number): Round[] {
  const cycle = [diamond, ...widths.map(width => wide(width))]
  return Array.from({ length: rounds }, (_, index) => {
    const round = cycle[index % cycle.length] ?? diamond
    const mixed = round.kind === 'wide' && Math.floor(index / cycle.length) % 2 === 1
    return { ...round, mixed }
  })
}

/** The widest first, and each into the first wave that has room for it. */
export function wavesOf(rounds: readonly Round[], most = maxParents): Wave[] {
  const waves: { rounds: Round[]; parents: number }[] = []
  for (const round of rounds.toSorted((a, b) => b.width - a.width)) {
    const roomy = waves.find(wave => wave.parents + round.width <= most)
    if (roomy) {
      roomy.rounds.push(round)
      roomy.parents += round.width
    } else waves.push({ rounds: [round], parents: round.width })
  }
  return waves.map(wave => wave.rounds)
}

export function parentsIn(wave: Wave): number {
  return wave.reduce((sum, round) => sum + round.width, 0)
}
