/** What failpoints promise: nothing when unset, sudden death at the nth hit when set. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isGenevaError } from '../../../src/errors.ts'

const load = async (setting: string | undefined) => {
  vi.stubEnv('GENEVA_FAILPOINT', setting)
  return (await import('../../../src/primitives/failpoint.ts')).failpoint
}

beforeEach(() => {
  vi.resetModules()
})

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test.each([undefined, ''])('there is no failpoint when the variable is %j', async setting => {
  expect(await load(setting)).toBeUndefined()
})

test('the process is killed at the nth hit of the chosen name only', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true)
  const wait = vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out')
  const failpoint = await load('finish.before-commit:2')
  failpoint?.('finish.before-commit')
  failpoint?.('finish.after-commit')
  failpoint?.('step.inside')
  expect(kill).not.toHaveBeenCalled()
  failpoint?.('finish.before-commit')
  expect(kill).toHaveBeenCalledExactlyOnceWith(process.pid, 'SIGKILL')
  expect(wait).toHaveBeenCalledExactlyOnceWith(expect.any(Int32Array), 0, 0, 5_000)
  failpoint?.('finish.before-commit')
  expect(kill).toHaveBeenCalledOnce()
})

test.each(['step.before', 'step.before:', 'step.before:0', 'step.before:x', 'step.nowhere:1', ':1', 'step.before:1:2'])(
  'the malformed setting %j is refused when the module loads',
  async setting => {
    await expect(load(setting)).rejects.toSatisfy(error => isGenevaError(error, 'INVALID_ARGUMENT'))
  },
)

test('a real process dies of SIGKILL and runs nothing after the failpoint', { timeout: 30_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'geneva-failpoint-'))
  try {
    const compile = ['--ignoreConfig', '--noCheck', '--module', 'nodenext', '--target', 'es2022', '--types', 'node']
    const emit = ['--rewriteRelativeImportExtensions', '--outDir', folder, 'src/primitives/failpoint.ts']
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...compile, ...emit])
    const script = `
      const { failpoint } = await import(${JSON.stringify(join(folder, 'primitives/failpoint.js'))})
      console.log('before'); failpoint('step.inside'); console.log('between'); failpoint('step.inside'); console.log('after')`
    const env = { ...process.env, GENEVA_FAILPOINT: 'step.inside:2' }
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' })
    expect(child.signal).toBe('SIGKILL')
    expect(child.stdout).toBe('before\nbetween\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
