/**
 * Stands between a worker and its server and loses the answers to commits: the commit is carried out, and the connection
 * breaks before anyone hears of it. The server may be away for a while, too.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface LossyProxy {
  /** The server's address through the proxy. */
  readonly url: string
  /** How many answers were lost so far. */
  readonly lost: number
  /** How many clients there are. */
  readonly connected: number
  /** From now on nothing goes through the connections that there are. Nobody tells anybody. */
  fallSilent(): void
  /** Says that to all who are connected, as if it came from the server, and hangs up. */
  hangUp(lastWords: Buffer): void
  /** Cuts every connection, and lets none through for so long. */
  away(ms: number): void
  close(): Promise<void>
}

/** The server has answered in full when it was silent for so long. */
const quietMs = 15

export interface Loss {
  /** The server is away for so long then. */
  readonly awayMs?: number
  /** Only commits of what was written with such a statement count. Others commit when they like. */
  readonly of?: RegExp
}

/** Loses the answer to every nth commit; `every` may change its mind by returning 0. */
export async function startLossyProxy(
  target: string,
  every: () => number,
  { awayMs = 0, of = /^/ }: Loss = {},
): Promise<LossyProxy> {
  const address = new URL(target)
  const sockets = new Set<Socket>()
  let commits = 0
  let lost = 0
  let awayUntil = 0
  const away = (ms: number) => {
    awayUntil = performance.now() + ms
    for (const socket of sockets) socket.destroy()
  }
  const clients = new Set<Socket>()
  const silent = new WeakSet<Socket>()
  const mustLose = () => {
    const nth = every()
    return nth > 0 && ++commits % nth === 0
  }
  const server = createServer(client => {
    if (performance.now() < awayUntil) return void client.destroy()
    clients.add(client)
    client.once('close', () => clients.delete(client))
    const upstream = connect(Number(address.port), address.hostname)
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', end).once('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    let losing = false
    let counts = false
    client.on('data', chunk => {
      if (silent.has(client)) return
      const text = chunk.toString('latin1')
      counts ||= of.test(text)
      const isCounted = counts && /commit(?!ted)/.test(text)
      if (isCounted) counts = false
      if (!losing && isCounted && mustLose()) {
        losing = true
        lost++
        upstream.once('data', () => setTimeout(awayMs > 0 ? () => away(awayMs) : end, quietMs))
      }
      upstream.write(chunk)
    })
    upstream.on('data', chunk => void (losing || silent.has(client) || client.write(chunk)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = new URL(target)
  url.port = String(port)
  url.hostname = '127.0.0.1'
  return {
    url: url.href,
    get lost() {
      return lost
    },
    get connected() {
      return clients.size
    },
    away,
    hangUp(lastWords) {
      for (const client of clients) client.end(lastWords)
    },
    fallSilent() {
      for (const socket of sockets) silent.add(socket)
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
