/** What has ended the wait of a node for people or for a message, as its row keeps it: what came itself is stored apart. */

export type Came =
  | { readonly came: 'decision' }
  | { readonly came: 'signal'; readonly id: string }
  | { readonly came: 'nothing' }

export function cameIn(input: string | null): Came | null {
  const parsed = input === null ? null : (JSON.parse(input) as Partial<Came> | null)
  return parsed !== null && typeof parsed === 'object' && 'came' in parsed ? (parsed as Came) : null
}
