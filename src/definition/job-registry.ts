/** The jobs and templates that one Geneva instance knows, by the names under which graphs are stored with them. */
import { DefinitionError } from '../errors.ts'
import { isJob, type Job } from './job.ts'
import { isTemplate, type Template } from './template.ts'

export class JobRegistry {
  readonly #jobs: ReadonlyMap<string, Job>
  readonly #templates: ReadonlyMap<string, Template>

  /** Throws `DefinitionError` for what is no job or template, and for names that meet. */
  constructor(jobs: readonly Job[], templates: readonly Template[] = []) {
    this.#jobs = byName(jobs, isJob, 'job')
    this.#templates = byName(templates, isTemplate, 'template')
  }

  get names(): readonly string[] {
    return [...this.#jobs.keys()]
  }

  /** The job of that name; `null` when this process does not have it. */
  find(name: string): Job | null {
    return this.#jobs.get(name) ?? null
  }

  findTemplate(name: string): Template | null {
    return this.#templates.get(name) ?? null
  }
}

function byName<T extends { readonly name: string }>(
  values: readonly T[],
  isOne: (value: unknown) => boolean,
  kind: 'job' | 'template',
): Map<string, T> {
  const found = new Map<string, T>()
  for (const [index, value] of values.entries()) {
    if (!isOne(value)) {
      const maker = kind === 'job' ? 'defineJob' : 'defineTemplate'
      throw new DefinitionError(`${kind}s[${index}] is not what ${maker} returned. Was it imported in a circle?`)
    }
    const twin = found.get(value.name)
    if (twin !== undefined) {
      const same = twin === value ? 'is registered twice. List it once.' : 'is the name of two. Rename one.'
      throw new DefinitionError(`The ${kind} ${JSON.stringify(value.name)} ${same}`)
    }
    found.set(value.name, value)
  }
  return found
}
