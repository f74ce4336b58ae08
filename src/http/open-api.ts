/**
 * The API document, made from the route table: OpenAPI 3.1, whose schemas are JSON Schema. It also holds what commands print
 * with `--json`.
 */
import { z } from 'zod'
import { commandDocuments } from './command-documents.ts'
import { paramsOf, type Route } from './route.ts'
import { problem } from './wire-schemas.ts'

export function openApiDocument(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = `/api${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Geneva Drive', version: '1', description: 'Look at workflows and steer them.' },
    paths,
    components: { schemas: { Problem: schemaOf(problem, 'output') } },
    // An extension, because no request asks for these: what each command prints with --json.
    'x-command-line': Object.fromEntries(
      Object.entries(commandDocuments).map(([command, document]) => [command, schemaOf(document, 'output')]),
    ),
  }
}

function operationOf(route: Route): object {
  const { action, role, resource, summary, answer, answerType = 'application/json', body } = route
  return {
    operationId: operationId(route),
    summary,
    'x-action': action,
    'x-resource': resource,
    'x-role': role,
    parameters: [...pathParameters(route), ...queryParameters(route)],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body, 'input') } } } }),
    responses: {
      200: { description: 'Done.', content: { [answerType]: { schema: schemaOf(answer, 'output') } } },
      default: {
        description: 'It was refused.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

function operationId({ method, path }: Route): string {
  const words = path.split(/[/:.-]+/).filter(word => word !== '')
  return [method.toLowerCase(), ...words.map(word => word.charAt(0).toUpperCase() + word.slice(1))].join('')
}

function pathParameters({ path }: Route): object[] {
  return paramsOf(path).map(name => ({ name, in: 'path', required: true, schema: { type: 'string' } }))
}

function queryParameters({ query }: Route): object[] {
  if (query === undefined) return []
  const { properties = {} } = schemaOf(query, 'input') as { properties?: Record<string, object> }
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: false, schema }))
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}
