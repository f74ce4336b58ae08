/** The forms that one Geneva instance knows, by the names under which graphs are stored with them. */
import { DefinitionError } from '../errors.ts'
import { type Form, isForm } from './define-form.ts'

export class FormRegistry {
  readonly #forms = new Map<string, Form>()

  /** Throws `DefinitionError` for what is no form, and for names that meet. */
  constructor(forms: readonly Form[]) {
    for (const [index, form] of forms.entries()) {
      if (!isForm(form)) {
        throw new DefinitionError(`forms[${index}] is not what defineForm returned. Was it imported in a circle?`)
      }
      const twin = this.#forms.get(form.name)
      if (twin !== undefined) {
        const same = twin === form ? 'is registered twice. List it once.' : 'is the name of two. Rename one.'
        throw new DefinitionError(`The form ${JSON.stringify(form.name)} ${same}`)
      }
      this.#forms.set(form.name, form)
    }
  }

  /** The form of that name; `null` when this process does not have it. */
  find(name: string): Form | null {
    return this.#forms.get(name) ?? null
  }
}
