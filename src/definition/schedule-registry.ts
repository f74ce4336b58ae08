/** The schedules that this process knows, by name. */
import { DefinitionError } from '../errors.ts'
import { isSchedule, type Schedule } from './define-schedule.ts'

export class ScheduleRegistry {
  readonly #byName = new Map<string, Schedule>()

  constructor(schedules: readonly Schedule[]) {
    if (!Array.isArray(schedules)) throw new DefinitionError('The `schedules` of a Geneva must be an array.')
    for (const schedule of schedules) {
      if (!isSchedule(schedule)) {
        throw new DefinitionError('The `schedules` of a Geneva are what `defineSchedule(name, ...)` returns.')
      }
      if (this.#byName.has(schedule.name)) {
        throw new DefinitionError(`Two schedules are called ${JSON.stringify(schedule.name)}. Rename one.`)
      }
      this.#byName.set(schedule.name, schedule)
    }
  }

  get all(): readonly Schedule[] {
    return [...this.#byName.values()]
  }

  find(name: string): Schedule | null {
    return this.#byName.get(name) ?? null
  }
}
