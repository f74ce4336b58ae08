/** What has ended a wait, as the row of its node keeps it. What was decided or sent is stored apart. */

export type Came =
  /** On the execution with this id. */
  | { readonly came: 'decision'; readonly id: string }
  | { readonly came: 'signal'; readonly id: string }
  /** Its time was over. */
  | { readonly came: 'nothing' }

export function cameIn(input: string | null): Came | null {
  const parsed = input === null ? null : (JSON.parse(input) as Partial<Came> | null)
  return parsed !== null && typeof parsed === 'object' && 'came' in parsed ? (parsed as Came) : null
}
