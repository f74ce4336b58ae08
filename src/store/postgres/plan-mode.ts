/**
 * How a connection plans. Left to itself a server plans a prepared statement anew for its values five times, on each connection, before it
 * keeps a plan. That is worth it where the best way depends on the values, as it does for whoever looks around; reports and starts are always looked
 * up by key, and planning them takes a tenth as long as carrying them out.
 */
import type pg from 'pg'

/** Connections that keep the first plan. */
const keeping = new WeakSet<object>()

export function setPlanMode(client: pg.PoolClient, mode: 'kept' | 'each'): void {
  if (keeping.has(client) === (mode === 'kept')) return
  if (mode === 'kept') keeping.add(client)
  else keeping.delete(client)
  // If it fails, so does whatever comes behind it.
  client.query(`set plan_cache_mode to ${mode === 'kept' ? 'force_generic_plan' : 'default'}`).catch(() => {})
}
