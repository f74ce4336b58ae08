/** `geneva dashboard` as a person runs it: it serves this machine, tells where, refuses others, and ends when it is told. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { commandDocuments } from '../../src/http/command-documents.ts'
import { followGeneva, libraryUrl, runGeneva } from '../support/run-geneva.ts'
import { waitFor } from '../support/wait-for.ts'

const folder = mkdtempSync(join(tmpdir(), 'geneva-dashboard-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const app = join(folder, 'geneva.config.mjs')
writeFileSync(
  app,
  `import { Geneva, Workflow } from ${JSON.stringify(libraryUrl)}
class Signup extends Workflow { static { this.step('greet') } greet() {} }
export const geneva = new Geneva({ database: ${JSON.stringify(`sqlite:${join(folder, 'geneva.db')}`)}, workflows: [Signup] })
`,
)

it('the dashboard and its API are served on a free port, and end in good order', async () => {
  const running = followGeneva(['dashboard', '--port', '0', '--json'], { cwd: folder })
  const line = await waitFor(() => running.printed.stdout.split('\n').find(text => text.endsWith('}')), 20_000)
  commandDocuments.dashboard?.parse(JSON.parse(line))
  const { url, readOnly } = JSON.parse(line) as { url: string; readOnly: boolean }
  expect({ url, readOnly }).toEqual({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/), readOnly: false })
  const page = await fetch(url)
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
  expect(await page.text()).toContain('<title>Geneva Drive</title>')
  expect(await (await fetch(`${url}api/definitions`)).json()).toMatchObject({ items: [{ type: 'Signup' }] })
  expect(await running.stop()).toBe(0)
  expect(running.printed.stderr).toBe('')
})

it('with --read-only nothing can be changed', async () => {
  const running = followGeneva(['dashboard', app, '--port', '0', '--read-only'], { cwd: folder })
  await running.says('The dashboard is at ')
  const [url = ''] = /http:\S+/.exec(running.printed.stderr) ?? []
  expect(await (await fetch(`${url}api/me`)).json()).toMatchObject({ role: 'reader', readOnly: true })
  const headers = { 'content-type': 'application/json' }
  const start = await fetch(`${url}api/workflows`, { method: 'POST', headers, body: '{"type":"Signup"}' })
  expect(start.status).toBe(403)
  expect(await running.stop('SIGTERM')).toBe(0)
})

it('a database that is mistyped, away or without tables is told before anything is served', async () => {
  const serve = (url: string) => runGeneva(['dashboard', '--database', url, '--port', '0'], { cwd: folder })
  const [mistyped, away, bare] = await Promise.all([
    serve('sqlite:mistyped.db'),
    serve('postgres://nobody@127.0.0.1:1/x'),
    serve(`sqlite:${bareFile()}`),
  ])
  expect(mistyped).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('There is no database file') })
  expect(away).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Nothing listens') })
  expect(bare).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('are missing. Run `geneva migrate`'),
  })
  expect(existsSync(join(folder, 'mistyped.db'))).toBe(false)
}, 60_000)

/** A database file without any tables. */
function bareFile(): string {
  const path = join(folder, 'bare.db')
  writeFileSync(path, '')
  return path
}

it('an address that others can reach is refused, with what to do instead', async () => {
  const ended = await runGeneva(['dashboard', app, '--host', '0.0.0.0', '--port', '0'], { cwd: folder })
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('authorize') })
  expect(await runGeneva(['dashboard', app, '--port', '70000'])).toMatchObject({ code: 2 })
})
