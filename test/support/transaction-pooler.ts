/**
 * A pooler that hands out a server's connection per transaction, as PgBouncer does in transaction mode: just enough of the protocol to
 * tell where a transaction ends. It lets everybody in.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import pg from 'pg'

export interface TransactionPooler {
  /** Of the same database, through the pooler. */
  readonly url: string
  /** From now on it hands out a connection per transaction, if it was told to wait with that. */
  mix(): void
  /** What each of the server's connections is left with: names of statements, channels, settings. */
  leftovers(): Promise<Leftovers[]>
  close(): Promise<void>
}

export interface Leftovers {
  readonly statements: number
  readonly channels: number
  readonly settings: number
}

export interface PoolerOptions {
  readonly servers: number
  /** Which connection comes next: the one that has rested longest, or the one that was used last, as with PgBouncer. */
  readonly next: 'rested' | 'used'
  /** Until it is told otherwise every client keeps its connection, as it would while nobody else is there. */
  readonly keeps?: boolean
}

export async function openPooler(url: string, options: PoolerOptions): Promise<TransactionPooler> {
  const servers = new ServerPool(options.next, options.keeps ?? false)
  for (let count = 0; count < options.servers; count++) servers.release(await connectServer(url))
  const clients = new Set<Socket>()
  // Many small messages, each of which somebody waits for.
  const listener = createServer({ noDelay: true }, socket => {
    clients.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => clients.delete(socket))
    serve(socket, servers)
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.hostname = '127.0.0.1'
  through.port = String((listener.address() as { readonly port: number }).port)
  return {
    url: through.href,
    mix: () => {
      servers.keeps = false
    },
    leftovers: () => Promise.all(servers.all.map(readLeftovers)),
    async close() {
      for (const client of clients) client.destroy()
      await new Promise(resolve => listener.close(resolve))
      for (const { socket } of servers.all) socket.destroy()
    },
  }
}

interface Server {
  readonly socket: Socket
  /** Whoever has it gets what it says. */
  heard: (frame: Buffer) => void
}

/** The driver signs in, and leaves what comes after that to others. */
async function connectServer(url: string): Promise<Server> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { stream: socket } = client.connection as unknown as { readonly stream: Socket }
  for (const event of ['data', 'end', 'close', 'error']) socket.removeAllListeners(event)
  const server: Server = { socket, heard: () => {} }
  socket.on('error', () => {})
  socket.on(
    'data',
    frames(frame => server.heard(frame)),
  )
  return server
}

class ServerPool {
  readonly all: Server[] = []
  keeps: boolean
  readonly #next: PoolerOptions['next']
  readonly #idle: Server[] = []
  readonly #waiting: ((server: Server) => void)[] = []

  constructor(next: PoolerOptions['next'], keeps: boolean) {
    this.#next = next
    this.keeps = keeps
  }

  take(taken: (server: Server) => void): void {
    const server = this.#next === 'used' ? this.#idle.pop() : this.#idle.shift()
    if (server === undefined) this.#waiting.push(taken)
    else taken(server)
  }

  release(server: Server): void {
    server.heard = () => {}
    if (!this.all.includes(server)) this.all.push(server)
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(server)
    else next(server)
  }
}

const [query, sync, terminate, ready] = ['Q', 'S', 'X', 'Z'].map(letter => letter.charCodeAt(0))
const idle = 'I'.charCodeAt(0)

/** From one transaction to the next, until the client hangs up. What it has left open then is undone. */
function serve(client: Socket, servers: ServerPool): void {
  let server: Server | null = null
  let asked = false
  /** How many more times the server will say that it is ready. */
  let expected = 0
  let gone = false
  const waiting: Buffer[] = []
  const pass = (frame: Buffer) => {
    if (frame[0] === query || frame[0] === sync) expected++
    server?.socket.write(frame)
  }
  const heard = (frame: Buffer) => {
    if (!gone) client.write(frame)
    if (frame[0] !== ready || --expected > 0 || server === null) return
    if (frame[5] === idle && (gone || !servers.keeps)) {
      const released = server
      server = null
      servers.release(released)
    } else if (gone) pass(message('Q', 'rollback\0'))
  }
  const take = (taken: Server) => {
    asked = false
    server = taken
    server.heard = heard
    if (gone) waiting.push(message('Q', 'rollback\0'))
    for (const frame of waiting.splice(0)) pass(frame)
  }
  const listen = frames(frame => {
    if (frame[0] === terminate) return client.end()
    if (server !== null) return pass(frame)
    waiting.push(frame)
    if (asked) return
    asked = true
    servers.take(take)
  })
  client.once('data', () => {
    client.write(greeting())
    client.on('data', listen)
  })
  client.on('close', () => {
    gone = true
    if (server !== null && expected === 0) pass(message('Q', 'rollback\0'))
  })
}

/** Whatever was asked for: come in, this is your number, go ahead. */
function greeting(): Buffer {
  return Buffer.concat([message('R', Buffer.alloc(4)), message('K', randomBytes(8)), message('Z', 'I')])
}

function message(letter: string, body: string | Buffer): Buffer {
  const content = Buffer.from(body as string)
  const head = Buffer.alloc(5)
  head.write(letter)
  head.writeInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}

/** Cuts what arrives into messages: a letter, a length, a body. */
function frames(heard: (frame: Buffer) => void): (data: Buffer) => void {
  let rest = Buffer.alloc(0)
  return data => {
    rest = Buffer.concat([rest, data])
    while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
      const end = rest.readInt32BE(1) + 1
      const frame = rest.subarray(0, end)
      rest = rest.subarray(end)
      heard(frame)
    }
  }
}

const look = `select (select count(*) from pg_prepared_statements), (select count(*) from pg_listening_channels()),
  (select count(*) from pg_settings where source = 'session' and name <> 'application_name')`

/** Asked in the plain form, whose answer is text. The server has nothing else to do by now. */
function readLeftovers(server: Server): Promise<Leftovers> {
  return new Promise((resolve, reject) => {
    let row: Leftovers | null = null
    server.heard = frame => {
      if (frame[0] === 'D'.charCodeAt(0)) row = leftoversIn(frame)
      if (frame[0] !== ready) return
      if (row === null) reject(new Error('The server has not answered.'))
      else resolve(row)
    }
    server.socket.write(message('Q', `${look}\0`))
  })
}

function leftoversIn(frame: Buffer): Leftovers {
  const values: number[] = []
  for (let at = 7; at < frame.length; ) {
    const length = frame.readInt32BE(at)
    values.push(Number(frame.toString('utf8', at + 4, at + 4 + length)))
    at += 4 + length
  }
  const [statements = -1, channels = -1, settings = -1] = values
  return { statements, channels, settings }
}
