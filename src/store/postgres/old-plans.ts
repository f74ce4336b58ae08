/**
 * A server plans a statement once per connection, for the tables as they are then. A new worker on a new database has its
 * statements planned for empty tables, and full ones would be read from end to end until the server next takes stock of them,
 * which may be a minute later. So plans are thrown away after a few transactions, and less and less often.
 */

/** Beyond these the server has taken stock. */
const renewals: ReadonlySet<number> = new Set([3, 10, 30, 100, 300, 1000, 3000])

const transactions = new WeakMap<object, number>()

/** Asked once per transaction of a connection. */
export function plansAreOld(connection: object): boolean {
  const count = (transactions.get(connection) ?? 0) + 1
  transactions.set(connection, count)
  return renewals.has(count)
}
