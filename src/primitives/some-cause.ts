/** Looks for something in an error and in what has caused it, wherever libraries keep that. */

/** How deep libraries wrap errors, at most. */
const maxDepth = 5

/** `isFinal`: an error that speaks for itself, whatever has caused it. */
export function someCause(
  error: unknown,
  test: (cause: object) => boolean,
  isFinal: (cause: object) => boolean = () => false,
  depth = maxDepth,
): boolean {
  if (typeof error !== 'object' || error === null || depth === 0) return false
  if (test(error)) return true
  if (isFinal(error)) return false
  const { cause, meta, driverAdapterError } = error as Record<string, unknown>
  return [cause, meta, driverAdapterError].some(inner => someCause(inner, test, isFinal, depth - 1))
}
