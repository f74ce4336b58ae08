/** x */
import { it } from 'vitest'
import { createConnection } from 'mysql2/promise'
import { Workflow, defineHero } from '../../src/index.ts'
import { databases } from '../support/databases.ts'
import { useGeneva } from '../support/use-geneva.ts'
const Orders = defineHero('Order', { id: (o: {id:string}) => o.id, load: id => ({ id: String(id) }) })
class Ping extends Workflow<{id:string}> { static { this.heroes(Orders); this.step('ping')} async ping() {} }
const database = databases.find(d => d.name === 'mysql')!
const under = useGeneva(database, { workflows: [Ping] })
it('x', async () => {
  for (const id of ['b', 'd', 'f']) await under.geneva.start(Ping, {hero: {id}})
  const c = await createConnection(under.url)
  await c.query('begin')
  await under.geneva.start(Ping, {hero: {id:'d'}}, { transaction: c }).catch(e => console.log(e.code))
  for (const id of ['a', 'c', 'e', 'g']) {
    const t = performance.now()
    const r = await Promise.race([under.geneva.start(Ping, {hero: {id}}).then(() => 'ok'), new Promise(r => setTimeout(r, 700, 'waits'))])
    console.log(id, r, performance.now() - t)
  }
  const k = await createConnection(under.url)
  console.log((await k.query("show engine innodb status"))[0].map((r: any) => r.Status.match(/TRANSACTIONS[^]*?FILE I/)?.[0].slice(0, 3500)))
  console.log((await k.query("explain select w.id from geneva_drive_workflows w where w.type = 'Ping' and w.hero_type = 'Order' and w.hero_id = 'd' and w.active_flag = 1 lock in share mode"))[0])
  await c.query('commit'); await c.end(); await k.end()
})
