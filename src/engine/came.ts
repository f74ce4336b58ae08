/** What has ended the wait of a node, as the row of the node keeps it from then on, through all of its further attempts. */
export type Came =
  /** People have decided on this execution; a later attempt works on the same decisions. */
  | { readonly came: 'decision'; readonly on: string }
  | { readonly came: 'signal'; readonly id: string }
  | { readonly came: 'nothing' }

/** `null`: nothing has, or the input is one of the application's. */
export function cameIn(input: string | null): Came | null {
  const parsed = input === null ? null : (JSON.parse(input) as Partial<Came> | null)
  return parsed !== null && typeof parsed === 'object' && 'came' in parsed ? (parsed as Came) : null
}
