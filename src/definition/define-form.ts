/**
 * Forms: named schemas for the data of decisions. A stored graph holds only their names, so the name must outlive every
 * graph that has it.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { DefinitionError } from '../errors.ts'
import { isStandardSchema } from './declare-rules.ts'
import { mistakeInStoredName } from './node-name.ts'

const brand = Symbol.for('geneva-drive.form')

/** A schema with a name. It is a schema itself, and stands wherever one is asked for. */
export interface Form<Schema extends StandardSchemaV1 = any>
  extends StandardSchemaV1<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>> {
  readonly name: string
  readonly schema: Schema
}

/** Declares a form. The name is stored with every graph that uses it: keep it when the schema changes. */
export function defineForm<Schema extends StandardSchemaV1>(name: string, schema: Schema): Form<Schema> {
  const mistake = mistakeInStoredName(name)
  if (mistake !== null) throw new DefinitionError(`defineForm: the name of a form ${mistake}.`)
  if (!isStandardSchema(schema)) {
    throw new DefinitionError(
      `defineForm(${JSON.stringify(name)}): it takes a Standard Schema, as zod, valibot and arktype make them.`,
    )
  }
  const form = { name, schema, '~standard': schema['~standard'] }
  return Object.freeze(Object.defineProperty(form, brand, { value: true })) as unknown as Form<Schema>
}

export function isForm(value: unknown): value is Form {
  return typeof value === 'object' && value !== null && brand in value
}
