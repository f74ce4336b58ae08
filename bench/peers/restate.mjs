/** Restate with its own server, which keeps its own files: 200 requests under way at once, each answered when it is recorded. */
import { createRequire } from 'node:module'
import * as restate from '@restatedev/restate-sdk'
import { connect } from '@restatedev/restate-sdk-clients'
import { freePort, startOwnServer } from './own-server.mjs'
import { callEach, measure, stepsOfFive } from './peer-lap.mjs'

const nothing = async () => null

const bench = restate.service({
  name: 'bench',
  handlers: {
    five: async ctx => {
      for (let step = 0; step < stepsOfFive; step++) await ctx.run(`step ${step}`, nothing)
    },
    fan: async (ctx, width) => {
      await ctx.run('first', nothing)
      await restate.RestatePromise.all(Array.from({ length: width }, (_, index) => ctx.run(`middle ${index}`, nothing)))
      await ctx.run('last', nothing)
    },
  },
})

await measure(async () => {
  const [ingress, admin, fabric, service] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const at = port => `127.0.0.1:${port}`
  const require = createRequire(import.meta.url)
  await startOwnServer(
    folder => ({
      program: require.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`),
      args: ['--no-logo', '--bind-ip', '127.0.0.1', '--listen-mode', 'tcp', '--bind-port', String(fabric)],
      env: {
        RESTATE_BASE_DIR: `${folder}/data`,
        RESTATE_INGRESS__BIND_PORT: String(ingress),
        RESTATE_ADMIN__BIND_PORT: String(admin),
        RESTATE_LOG_FILTER: 'warn',
        DO_NOT_TRACK: '1',
      },
    }),
    async () =>
      (await fetch(`http://${at(admin)}/health`)).ok && (await fetch(`http://${at(ingress)}/restate/health`)).ok,
  )
  await restate.serve({ services: [bench], port: service, logger: () => {} })
  const registered = await fetch(`http://${at(admin)}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://${at(service)}` }),
  })
  if (!registered.ok) throw new Error(`Restate did not accept the service: ${await registered.text()}`)
  const client = connect({ url: `http://${at(ingress)}` }).serviceClient(bench)
  return {
    runMany: workflows => callEach(workflows, 200, () => client.five()),
    runOne: () => client.five(),
    runFan: width => client.fan(width),
    close: async () => {},
  }
})
