/** Some peers need a newer Node than we do. What is compared runs on one and the same, so the whole benchmark goes on with theirs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync } from 'node:fs'

/** True when another process has done everything: then this one only has to end. */
export async function goOnWith(node: string): Promise<boolean> {
  if (realpathSync(node) === realpathSync(process.execPath)) return false
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit' })
  process.on('SIGTERM', () => child.kill())
  // The terminal tells both.
  process.on('SIGINT', () => {})
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
  return true
}
