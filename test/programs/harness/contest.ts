/** The workflow that two processes race for: one per hero, and nobody runs it. */
import { defineHero, Workflow } from '../../../src/index.ts'

interface Contestant {
  readonly name: string
}

export const Contestants = defineHero('Contestant', {
  id: (contestant: Contestant) => contestant.name,
  load: async (name: string) => ({ name }),
})

export class Contest extends Workflow<Contestant> {
  static {
    this.heroes(Contestants)
    this.step('wins')
  }
  async wins() {}
}
