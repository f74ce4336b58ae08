/**
 * Migration 3: what the engine itself notes as the input of a row carries a tag, so that nothing that anybody gives can be taken for
 * it. Rows that wait for a child, for people, for a message or for a compensation have their note from before. What ended is left alone.
 * Code from before does not know the tag: it must not work on these tables.
 */
import { raw } from '../sql.ts'
import type { Migration } from './migration.ts'

const forward = ['{"child":"%', '{"existing":"%', '{"came":"%', '{"reconcile":true}']

export const taggedMarks: Migration = {
  version: 3,
  name: 'tagged marks',
  compatibleFrom: 3,
  statements: ({ dialect, tables, keyType }) => {
    const { json } = dialect.columnTypes(keyType)
    const tagged = `concat('{"$geneva":"mark","value":', input, '}')`
    // A type of its own has to be asked for; where JSON is text, there is none.
    const value = json === 'json' ? `cast(${tagged} as json)` : tagged
    const like = (pattern: string) => `concat(input, '') like '${pattern}'`
    return [
      // The items of a node have a slash in their slot, and work on what the application gave them.
      raw(`update ${tables.name('active_executions')} set input = ${value} where input is not null and (
        (kind = 'compensate' and ${like('{"undoes":"%')})
        or (kind = 'forward' and slot not like '%/%' and (${forward.map(like).join(' or ')})))`),
    ]
  },
}
