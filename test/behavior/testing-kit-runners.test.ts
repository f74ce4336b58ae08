/** The testing kit without vitest: under node:test, in a realm of its own as under jest, and with no runner at all. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { spawnProgram } from '../support/spawn-program.ts'

it('works under node:test, in the example of the guide', async () => {
  const program = spawnProgram('signup-under-node-test')
  expect(await program.exited, program.output.stdout).toEqual({ code: 0, signal: null })
  expect(program.output.stdout).toMatch(/pass 2\b.*fail 0\b/s)
})

it('works in a realm with its own globals, as under jest', async () => {
  const program = spawnProgram('kit-in-another-realm', [], { NODE_OPTIONS: '--experimental-vm-modules' })
  expect(await program.exited, program.output.stdout).toEqual({ code: 0, signal: null })
  expect(program.output.stdout).toMatch(/pass 2\b.*fail 0\b/s)
})

it('is shown in the guide by the very program that was just tested', () => {
  const guide = readFileSync(new URL('../../docs/guides/testing.md', import.meta.url), 'utf8')
  const program = readFileSync(new URL('../programs/signup-under-node-test.ts', import.meta.url), 'utf8')
  const shown = /```ts\n(.*?)```/s.exec(guide)?.[1]
  expect(shown).toBe(
    program
      .replace("'../../src/index.ts'", "'geneva-drive'")
      .replace("'../../src/testing.ts'", "'geneva-drive/testing'"),
  )
})

it.each([
  { argument: 'close', leftFolders: 0 },
  { argument: 'abandon', leftFolders: 1 },
  { argument: 'hurry', leftFolders: 0 },
])('needs nothing of a runner and leaves nothing behind ($argument)', async ({ argument, leftFolders }) => {
  const folder = mkdtempSync(join(tmpdir(), 'kit-'))
  const program = spawnProgram('kit-in-plain-node', [argument], { TMPDIR: folder })
  expect(await program.nextMessage()).toEqual({
    globals: [],
    state: 'paused',
    failure: { name: 'AssertionError', code: 'ERR_ASSERTION', cause: 'lost the way' },
    leftFolders,
  })
  expect(await program.exited).toEqual({ code: 0, signal: null })
  expect(program.output).toEqual({ stdout: '', stderr: '' })
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true })
})
