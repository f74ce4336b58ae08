/** Many processes that migrate an empty database at the same instant. */
import { once } from 'node:events'
import { openAccess } from './plain-access.ts'
import { spawnNode } from './spawn-node.ts'

/** What went wrong, in sentences. */
export async function migrateRun(url: string, processes: number): Promise<string[]> {
  const children = Array.from({ length: processes }, () => {
    const child = spawnNode('migrator', [url])
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
    const ended = once(child, 'close').then(([code, signal]) => {
      return code === 0 ? [] : [`A process ended with ${signal ?? code}: ${stderr}`]
    })
    return { child, ready: Promise.race([once(child, 'message'), ended]), ended }
  })
  await Promise.all(children.map(({ ready }) => ready))
  for (const { child } of children) if (child.connected) child.send('go')
  const findings = (await Promise.all(children.map(({ ended }) => ended))).flat()
  const access = await openAccess(url)
  const migrations = access.table('geneva_drive_migrations')
  const rows = await access.query(`select version from ${migrations} where version > 0 order by version`)
  await access.close()
  const versions = rows.map(row => Number(row.version))
  if (versions.some((version, index) => version !== index + 1) || versions.length === 0) {
    findings.push(`The migrations on record are ${versions.join() || 'none'}.`)
  }
  return findings
}
