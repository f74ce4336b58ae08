/** The JSON Schema of a form, for those who draw it. Only where the schema can say itself. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { z } from 'zod'

/** `null` for a schema of another library, and for one that no JSON Schema can express. */
export function formOf(schema: StandardSchemaV1 | null): Record<string, unknown> | null {
  if (schema === null || !('_zod' in schema)) return null
  try {
    return z.toJSONSchema(schema as unknown as z.ZodType, { io: 'input', unrepresentable: 'any' }) as Record<
      string,
      unknown
    >
  } catch {
    return null
  }
}
