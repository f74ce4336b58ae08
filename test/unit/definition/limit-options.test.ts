/** Limits in the static block: what is wrong is said when the class is defined, and subclasses inherit. */
import { expect, it } from 'vitest'
import { definitionOf } from '../../../src/definition/compile.ts'
import { Workflow } from '../../../src/index.ts'

it.each([
  [{ concurrency: 0 }, 'the concurrency must be a whole number above 0'],
  [{ concurrency: 1.5 }, 'the concurrency must be a whole number above 0'],
  [{ rate: 5 }, 'a rate is written like'],
  [{ rate: { limit: 5 } }, 'the period of a rate'],
  [{ rate: { limit: 0, per: '1 min' } }, 'the limit of a rate must be a whole number'],
  [{ rate: { limit: 5, per: 0 } }, 'must be longer than 0'],
  [{ perKey: { concurrency: 1 } }, '`key` must be a function'],
  [{ perKey: { key: String } }, 'give it a concurrency or a rate'],
  [{ perKey: { key: String, concurency: 1 } }, 'there is no option concurency'],
  [{ most: 5 }, 'there is no option most'],
])('refuses %o', (options, message) => {
  expect(() => {
    class Wrong extends Workflow {
      static {
        this.jobOptions(options as object)
      }
    }
    return Wrong
  }).toThrow(new RegExp(`Wrong, jobOptions: .*${message}`))
})

class Parent extends Workflow<null, { tenant: string }> {
  static {
    this.jobOptions({ concurrency: 5, perKey: { key: wf => wf.input.tenant, concurrency: 1 } })
    // @ts-expect-error a key is made from the input as it is declared
    this.jobOptions({ perKey: { key: wf => wf.input.account, concurrency: 1 } })
    this.jobOptions({ perKey: { key: wf => wf.input.tenant, concurrency: 2 } })
    this.step('go')
  }
  go() {}
}

class Child extends Parent {
  static {
    this.jobOptions({ concurrency: 7, rate: { limit: 10, per: '1 min' } })
  }
}

it('a subclass has the limits of its parent, but for what it says itself', () => {
  const [parent, child] = [definitionOf(Parent).limits, definitionOf(Child).limits]
  expect(parent).toMatchObject({ concurrency: 5, rate: null, perKey: { concurrency: 2, rate: null } })
  expect(child).toMatchObject({ concurrency: 7, rate: { limit: 10, perMs: 60_000 }, perKey: { concurrency: 2 } })
})
