/** The options by which commands choose workflows: the same for looking and for changing many. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Duration, StateFilter, ViewOptions } from '../index.ts'
import { toMilliseconds } from '../primitives/duration.ts'
import { workflowStates } from '../store/records.ts'
import { WrongUsage } from './exit-codes.ts'

export interface FilterFlags {
  readonly state?: StateFilter[]
  readonly type?: string[]
  readonly hero?: { readonly type: string; readonly id: string }
  readonly at?: string
  readonly error?: string
  readonly olderThan?: string
  readonly newerThan?: string
  readonly tag?: string
  readonly search?: string
}

const states = ['active', ...workflowStates]

export function filtering<C extends Command>(command: C): C {
  return command
    .optionsGroup('Which workflows:')
    .addOption(new Option('--state <state...>', 'in one of these states; active: not ended').choices(states))
    .option('--type <type...>', 'of these classes, by their stored names')
    .option('--hero <type:id>', 'about this record, such as Order:42', heroFrom)
    .option('--at <step>', 'that stand at this step, or where it has failed')
    .option('--error <text>', 'with this in the class or message of an error of a step')
    .option('--older-than <duration>', "started at least so long ago, like '2 hours'")
    .option('--newer-than <duration>', "started within, like '1 day'")
    .option('--tag <tag>', 'started with this tag')
    .option('--search <text>', 'with this id, or about a record whose id begins so')
    .optionsGroup('Options:') as C
}

/** `null` when nothing narrows the choice. */
export function filterFrom(flags: FilterFlags): ViewOptions | null {
  const { state, type, hero, at, error, olderThan, newerThan, tag, search } = flags
  const given = [state, type, hero, at, error, olderThan, newerThan, tag, search]
  if (given.every(value => value === undefined)) return null
  return {
    ...(state === undefined ? {} : { state }),
    ...(type === undefined ? {} : { type }),
    ...(hero === undefined ? {} : { hero }),
    ...(at === undefined ? {} : { at }),
    ...(error === undefined ? {} : { error }),
    ...(olderThan === undefined ? {} : { olderThan: spanOf(olderThan, '--older-than') }),
    ...(newerThan === undefined ? {} : { newerThan: spanOf(newerThan, '--newer-than') }),
    ...(tag === undefined ? {} : { tag }),
    ...(search === undefined ? {} : { q: search }),
  }
}

/** A length of time that a person has typed. */
export function spanOf(text: string, option: string): number {
  try {
    return toMilliseconds(text as Duration, option)
  } catch {
    throw new WrongUsage(`${option} takes a length of time, such as '90 min', '2 days' or '1d12h', not '${text}'.`)
  }
}

/** The type ends at the first colon: ids may hold more of them. */
export function heroFrom(text: string): { type: string; id: string } {
  const at = text.indexOf(':')
  if (at > 0 && at < text.length - 1) return { type: text.slice(0, at), id: text.slice(at + 1) }
  throw new InvalidArgumentError('It takes type and id, such as Order:42.')
}
