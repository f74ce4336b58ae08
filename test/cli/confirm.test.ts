/** The question before something that cannot be taken back, at a terminal of the test's own. */
import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { confirmed } from '../../src/cli/confirm.ts'

/** What the answer comes to when somebody presses these keys, and what has been printed. */
async function asked(keys: string): Promise<{ yes: boolean; printed: string }> {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 })
  output.setEncoding('utf8')
  const answer = confirmed('Cancel workflow 17?', {}, { input, output })
  input.write(keys)
  const yes = await answer
  return { yes, printed: String(output.read()) }
}

it('y and yes are a yes, and everything else is a no', async () => {
  for (const keys of ['y\r', 'YES\r', ' yes \r']) expect(await asked(keys)).toMatchObject({ yes: true })
  for (const keys of ['\r', 'n\r', 'yet\r']) expect(await asked(keys)).toMatchObject({ yes: false })
})

it('Ctrl-C and Ctrl-D are a no, and what is printed next begins on a line of its own', async () => {
  for (const key of ['\u0003', '\u0004']) {
    const { yes, printed } = await asked(key)
    expect(yes).toBe(false)
    expect(printed).toContain('Cancel workflow 17? [y/N] ')
    expect(printed).toMatch(/\n$/)
  }
})
