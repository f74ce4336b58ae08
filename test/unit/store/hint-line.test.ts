/** The line that listens is asked whether it still hears, and set up again when it does not. */
import { EventEmitter } from 'node:events'
import { afterEach, expect, it } from 'vitest'
import { HintLine } from '../../../src/store/postgres/hint-line.ts'
import { waitFor } from '../../support/wait-for.ts'

/** As much of a client as the line uses. It hears nothing once it is deaf, and nobody is told. */
class Connection extends EventEmitter {
  isDeaf = false
  isOpen = true
  readonly connection = { stream: { destroy: () => {} } }
  async connect(): Promise<void> {}
  async query(): Promise<void> {}
  async end(): Promise<void> {
    this.isOpen = false
    this.emit('end')
  }
}

let connections: Connection[] = []
let line: HintLine | null = null
afterEach(() => line?.close())

function open(): string[] {
  connections = []
  const heard: string[] = []
  line = new HintLine(
    {
      connect: () => {
        const connection = new Connection()
        connections.push(connection)
        return connection as never
      },
      channel: 'hints',
      say: async text => {
        for (const each of connections) if (each.isOpen && !each.isDeaf) each.emit('notification', { payload: text })
      },
      heard: text => heard.push(text),
      opened: () => heard.push('opened'),
    },
    { checkMs: 20, answerMs: 200 },
  )
  return heard
}

it('a line that hears what is said is kept', async () => {
  const heard = open()
  await waitFor(() => heard.length > 4)
  expect(connections).toHaveLength(1)
  expect(heard[0]).toBe('opened')
})

it('a line that has gone deaf without a word is given up for another', async () => {
  const heard = open()
  await waitFor(() => heard.length > 1)
  const [first] = connections
  if (first !== undefined) first.isDeaf = true
  await waitFor(() => connections.length === 2)
  expect(first?.isOpen).toBe(false)
  await waitFor(() => heard.filter(text => text === 'opened').length === 2)
})

it('a line that is closed is not set up again', async () => {
  const heard = open()
  await waitFor(() => heard.length > 0)
  line?.close()
  await waitFor(() => connections[0]?.isOpen === false)
  expect(connections).toHaveLength(1)
})
