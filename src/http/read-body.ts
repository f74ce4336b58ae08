/** The body of a request: JSON alone, no larger and no deeper than it may be. */
import { RequestProblem } from './request-problem.ts'

const maxDepth = 64

export async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== 'application/json') {
    throw new RequestProblem(415, 'JSON_ONLY', 'The body must be JSON.', 'Send content-type: application/json.')
  }
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const text = await textOf(request, maxBytes)
  const body = text.trim() === '' ? {} : parsed(text)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new RequestProblem(400, 'INVALID_REQUEST', 'The body must be a JSON object.')
  }
  if (isDeeper(body, maxDepth)) {
    throw new RequestProblem(400, 'INVALID_REQUEST', `The body is nested more than ${maxDepth} levels deep.`)
  }
  return body
}

/** Counted while it comes, because the header may lie. */
async function textOf(request: Request, maxBytes: number): Promise<string> {
  if (request.body === null) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new RequestProblem(400, 'INVALID_REQUEST', 'The body is not UTF-8.')
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RequestProblem(400, 'INVALID_REQUEST', 'The body is not JSON.')
  }
}

function tooLarge(maxBytes: number): RequestProblem {
  return new RequestProblem(413, 'TOO_LARGE', `The body is larger than ${maxBytes} bytes.`)
}

/** Without recursion: the value may be deeper than the stack. */
function isDeeper(value: unknown, limit: number): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true
    level = level.flatMap(each => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}
