/** Proves that programs run as processes of their own, and that a test sees what they say and how they end. */
import { expect, it } from 'vitest'
import { spawnProgram } from './spawn-program.ts'

it('passes arguments and environment on, and collects messages', async () => {
  const program = spawnProgram('echo', ['one', 'two'], { GREETING: 'hello' })
  expect(program.pid).not.toBe(process.pid)
  expect(await program.nextMessage()).toEqual({ args: ['one', 'two'], greeting: 'hello' })
  program.send('first')
  program.send('second')
  const isSecond = (message: { echo?: string }) => message.echo === 'second'
  expect(await program.nextMessage(isSecond)).toEqual({ echo: 'second' })
  expect(await program.nextMessage()).toEqual({ echo: 'first' })
  expect(program.messages).toHaveLength(3)
  program.kill()
  expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' })
  expect(program.output.stdout).toBe('echo is up\n')
})

it('rejects a wait for a message with the output of a program that failed', async () => {
  const program = spawnProgram('echo')
  await program.nextMessage()
  program.send('fail')
  await expect(program.nextMessage()).rejects.toThrow(/ended with code 1.*echo is up.*told to fail.*echo\.ts:4/s)
  expect(await program.exited).toEqual({ code: 1, signal: null })
})

it('rejects a wait for a message that does not come in time', async () => {
  const program = spawnProgram('echo')
  await program.nextMessage()
  await expect(program.nextMessage(() => true, 20)).rejects.toThrow(/no such message within 20 ms/)
})

it('says which program is missing', async () => {
  const program = spawnProgram('no-such-program')
  await expect(program.nextMessage()).rejects.toThrow(/no-such-program/)
  expect((await program.exited).code).not.toBe(0)
})
