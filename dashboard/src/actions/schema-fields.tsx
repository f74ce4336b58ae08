/** Fields for a JSON schema: text, numbers, yes or no, and choices. What else there is, is asked for as JSON. */
import type { JsonSchema } from '../api/types.ts'
import { words } from '../ui/wording.ts'

export interface SchemaField {
  readonly name: string
  readonly kind: 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'
  readonly required: boolean
  readonly schema: JsonSchema
}

/** `null` when the schema is no object with known properties: then the whole of it is asked for as JSON. */
export function fieldsOf({ properties, required = [] }: JsonSchema): SchemaField[] | null {
  if (properties === undefined) return null
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    kind: kindOf(schema),
    required: required.includes(name),
    schema,
  }))
}

function kindOf({ type, enum: choices }: JsonSchema): SchemaField['kind'] {
  if (choices?.every(choice => typeof choice === 'string')) return 'choice'
  switch (type) {
    case 'string':
      return 'text'
    case 'number':
    case 'integer':
    case 'boolean':
      return type
    default:
      return 'json'
  }
}

interface Props {
  /** Tells the fields of one form from those of another. */
  readonly id: string
  readonly fields: readonly SchemaField[]
}

export function SchemaFields({ id, fields }: Props) {
  return fields.map(field => <OneField key={field.name} id={`${id}-${field.name}`} field={field} />)
}

function OneField({ id, field }: { readonly id: string; readonly field: SchemaField }) {
  const { name, kind, required, schema } = field
  const label = schema.title ?? words(name)
  const hint = schema.description
  if (kind === 'boolean') {
    return (
      <label className="field check" htmlFor={id}>
        <input id={id} type="checkbox" name={name} defaultChecked={schema.default === true} />
        <span>{label}</span>
        {hint && <span className="hint">{hint}</span>}
      </label>
    )
  }
  return (
    <label className="field" htmlFor={id}>
      <span>
        {label} {!required && <span className="muted">(optional)</span>}
      </span>
      <Control id={id} field={field} />
      {hint && <span className="hint">{hint}</span>}
    </label>
  )
}

function Control({
  id,
  field: { name, kind, required, schema },
}: {
  readonly id: string
  readonly field: SchemaField
}) {
  const initial = schema.default === undefined ? '' : String(schema.default)
  switch (kind) {
    case 'choice':
      return (
        <select id={id} name={name} required={required} defaultValue={initial}>
          <option value="">choose</option>
          {(schema.enum ?? []).map(choice => (
            <option key={String(choice)}>{String(choice)}</option>
          ))}
        </select>
      )
    case 'number':
    case 'integer':
      return (
        <input
          id={id}
          type="number"
          name={name}
          required={required}
          defaultValue={initial}
          step={kind === 'integer' ? 1 : 'any'}
          min={schema.minimum}
          max={schema.maximum}
        />
      )
    case 'json':
      return <textarea id={id} className="mono" name={name} required={required} rows={3} placeholder="JSON" />
    default:
      return (
        <input
          id={id}
          name={name}
          required={required}
          defaultValue={initial}
          minLength={schema.minLength}
          maxLength={schema.maxLength}
        />
      )
  }
}

/** What was filled in, in the types of the schema. Fields that were left empty are left out; `undefined` if there are none at all. */
export function valuesFrom(form: FormData, fields: readonly SchemaField[]): Record<string, unknown> | undefined {
  if (fields.length === 0) return undefined
  return Object.fromEntries(
    fields.flatMap(({ name, kind }): [string, unknown][] => {
      const text = form.get(name)
      if (kind === 'boolean') return [[name, text !== null]]
      if (typeof text !== 'string' || text === '') return []
      if (kind === 'number' || kind === 'integer') return [[name, Number(text)]]
      return [[name, kind === 'json' ? parsed(name, text) : text]]
    }),
  )
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${words(name)} is not JSON: text stands in quotes.`)
  }
}
