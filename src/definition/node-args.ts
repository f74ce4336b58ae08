/**
 * The arguments of a node between the moment a graph is built and the moment the node runs: stored as readable JSON with
 * references to outputs in it, filled in at the end. How outputs are read is the caller's business.
 */
import { SchemaError } from '../errors.ts'
import { describeError } from '../primitives/describe-error.ts'
import { encodeValue } from '../primitives/json-codec.ts'
import { readValue } from '../primitives/read-value.ts'
import { OutputReference, referenceTags, referredIds } from './output-reference.ts'

export interface EncodedArgs {
  /** Plain JSON, tags included. */
  readonly json: unknown
  readonly bytes: number
  /** Ids of the nodes whose outputs are referred to. */
  readonly references: ReadonlySet<string>
}

/** Most nodes refer to nothing, and a graph may have many. */
const nothing: ReadonlySet<string> = new Set()

/** Those of a node that was given none. */
export const noArgs: EncodedArgs = { json: {}, bytes: 2, references: nothing }

/** Throws `UnstorableValueError` and `ValueTooLargeError`, which name the value as `what`. */
export function encodeArgs(args: object, what: string, maxBytes: number): EncodedArgs {
  let references: Set<string> | undefined
  const write = (value: object) => {
    if (value instanceof OutputReference) {
      references ??= new Set()
      for (const id of idsIn(value)) references.add(id)
    }
    return referenceTags.write(value)
  }
  const text = encodeValue(args, { what, maxBytes, extraTags: { read: referenceTags.read, write } }) ?? '{}'
  return { json: JSON.parse(text), bytes: Buffer.byteLength(text), references: references ?? nothing }
}

/** The arguments with references in them, for checking and encoding them anew. Throws for JSON that is no value. */
export function decodeArgs(json: unknown): unknown {
  return readValue(copyOf(json), referenceTags.read)
}

/** The ids of the nodes whose outputs `fillArgs` will ask for, so that they can be fetched together. */
export function outputsWanted(json: unknown): Set<string> {
  const wanted = new Set<string>()
  if (json !== undefined) read(json, id => wanted.add(id))
  return wanted
}

/**
 * The arguments as a job receives them; an empty object where a node has none. Asks once for each output, all at the same
 * time. What `readOutput` throws comes through; `SchemaError` when the stored arguments themselves cannot be read.
 */
export async function fillArgs(json: unknown, readOutput: (nodeId: string) => Promise<unknown>): Promise<unknown> {
  if (json === undefined) return {}
  const wanted = [...outputsWanted(json)]
  const outputs = new Map(await Promise.all(wanted.map(async id => [id, await readOutput(id)] as const)))
  return read(json, id => outputs.get(id))
}

function read(json: unknown, outputOf: (nodeId: string) => unknown): unknown {
  try {
    return readValue(copyOf(json), (tag, value) => {
      const ids = referredIds(tag, value)
      return typeof ids === 'string' ? outputOf(ids) : ids.map(outputOf)
    })
  } catch (error) {
    throw new SchemaError(`The stored arguments of a node cannot be read: ${describeError(error).message}.`)
  }
}

function idsIn({ nodes }: OutputReference): readonly string[] {
  return typeof nodes === 'string' ? [nodes] : nodes
}

/** Reading changes the tree that it is given, and graphs are kept. */
function copyOf(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json))
}
