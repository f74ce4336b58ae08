/** Live updates: whoever watches hears that something changed, and costs nothing once it is gone. */
import { expect, it } from 'vitest'
import { forEachDatabase } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
import { ApiClient, everything, Greeting, Orders, Wide } from './http-world.ts'

const decoder = new TextDecoder()

/** Reads a stream until its text fits. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, pattern: RegExp): Promise<string> {
  let text = ''
  while (!pattern.test(text)) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`The stream ended with ${JSON.stringify(text)}.`)
    text += decoder.decode(value, { stream: true })
  }
  return text
}

forEachDatabase('live updates', database => {
  const under = useGeneva(database, everything)

  async function stream(api: ApiClient, what: string) {
    const response = await api.raw(`/api/stream?workflow=${what}`)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await readUntil(reader, /connected/)
    return reader
  }

  it('tell of a change of the workflow that is watched, and of anything', async () => {
    const api = new ApiClient(under.geneva)
    const { id } = await under.geneva.start(Wide)
    const [own, all] = [await stream(api, id), await stream(api, 'overview')]
    await readUntil(own, /event: change/)
    await under.geneva.pause(id)
    expect(await readUntil(own, /workflow\.paused/)).toContain(`"workflowId":"${id}"`)
    const activity = readUntil(all, /event: change\nid: \d+\ndata: \{"workflowId":null,"type":"activity"/)
    for (let told = false; !told; ) {
      await under.geneva.start(Greeting, { hero: Orders.ref(1), input: {} })
      told = await Promise.race([
        activity.then(() => true),
        new Promise<false>(resolve => setTimeout(resolve, 50, false)),
      ])
    }
    await Promise.all([own.cancel(), all.cancel()])
  })

  it('give their place back when their reader goes, and are refused when too many are open', async () => {
    const api = new ApiClient(under.geneva, { maxStreams: 1 })
    const reader = await stream(api, 'overview')
    expect((await api.get('/stream')).body.error.code).toBe('TOO_MANY_STREAMS')
    await reader.cancel()
    const aborting = new AbortController()
    const again = await api.raw('/api/stream', { signal: aborting.signal })
    expect(again.status).toBe(200)
    aborting.abort()
    const third = await api.raw('/api/stream')
    expect(third.status).toBe(200)
    await third.body?.cancel()
  })

  it('leave the same question of many who watch to one look, which is taken anew after a hint', async () => {
    const api = new ApiClient(under.geneva)
    const { id } = await under.geneva.start(Wide)
    const streams = [await stream(api, id), await stream(api, id)]
    const { geneva } = under
    const explain = geneva.explain
    let looks = 0
    geneva.explain = which => {
      looks++
      return explain.call(geneva, which)
    }
    try {
      await readUntil(streams[0] as never, /event: change/)
      const states = await Promise.all(
        Array.from({ length: 20 }, async () => (await api.get(`/workflows/${id}/explain`)).body.state),
      )
      expect(new Set(states)).toEqual(new Set(['ready']))
      expect(looks).toBeLessThan(20)
      await geneva.pause(id)
      await readUntil(streams[0] as never, /workflow\.paused/)
      expect((await api.get(`/workflows/${id}/explain`)).body.state).toBe('paused')
      await api.post(`/workflows/${id}/resume`)
      expect((await api.get(`/workflows/${id}/explain`)).body.state).toBe('ready')
    } finally {
      geneva.explain = explain
    }
    await Promise.all(streams.map(reader => reader.cancel()))
  })

  it('end when the instance is closed', async () => {
    const geneva = under.another(everything)
    const reader = await stream(new ApiClient(geneva), 'overview')
    await geneva.close()
    await expect(readUntil(reader, /never/)).rejects.toThrow('The stream ended')
  })

  it('of a workflow that does not exist are a 404', async () => {
    expect((await new ApiClient(under.geneva).get('/stream?workflow=123456789')).status).toBe(404)
  })
})
