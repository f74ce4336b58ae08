/**
 * A join that survives a crash, for queues that have none: what is still open stands in a table, and each job counts once,
 * however often it is delivered. Jobs that end while a statement is under way are counted by the next one.
 */
export class DurableJoin {
  #pool
  #waiting = new Map()
  #isCounting = false

  constructor(pool) {
    this.#pool = pool
  }

  async prepare() {
    await this.#pool.query('create table join_open (id int primary key, open int not null)')
    await this.#pool.query('create table join_ended (id int, job text, primary key (id, job))')
  }

  /** Waits for so many jobs under that number. */
  async begin(id, width) {
    await this.#pool.query('insert into join_open values ($1, $2) on conflict do nothing', [id, width])
  }

  /** Counts these jobs, durably, and tells one of those that ask at the same time whether they were the last. */
  end(id, jobs) {
    return new Promise((resolve, reject) => {
      const group = this.#waiting.get(id) ?? []
      this.#waiting.set(id, group)
      group.push({ jobs, resolve, reject })
      if (!this.#isCounting) setImmediate(() => this.#count())
    })
  }

  async #count() {
    if (this.#isCounting) return
    this.#isCounting = true
    for (const [id, group] of this.#waiting) {
      this.#waiting.delete(id)
      const jobs = group.flatMap(one => one.jobs)
      try {
        const { rows } = await this.#pool.query({ name: 'count', text: count, values: [id, jobs] })
        for (const [index, one] of group.entries()) one.resolve(rows[0].open === 0 && index === 0)
      } catch (error) {
        for (const one of group) one.reject(error)
      }
    }
    this.#isCounting = false
    if (this.#waiting.size > 0) await this.#count()
  }
}

const count = `
  with fresh as (insert into join_ended select $1::int, unnest($2::text[]) on conflict do nothing returning 1)
  update join_open set open = open - (select count(*) from fresh) where id = $1 returning open`
