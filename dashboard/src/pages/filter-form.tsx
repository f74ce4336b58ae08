/** The form above the list of workflows. Every change is in the address at once, so that it can be shared. */
import { useState } from 'react'
import { useDefinitions } from '../api/queries.ts'
import { href, replaceRoute, withQuery } from '../routing/route.ts'
import { Icon } from '../ui/icon.tsx'
import { lookOf } from '../ui/state-look.ts'
import { words } from '../ui/wording.ts'
import { ages, isEmptyFilter, type WorkflowFilter } from './workflow-filter.ts'

const states = ['ready', 'performing', 'paused', 'dlq', 'rolling_back', 'finished', 'failed', 'canceled', 'aborted']

export function FilterForm({ filter }: { readonly filter: WorkflowFilter }) {
  const definitions = useDefinitions()
  const types = new Set([...(definitions.data?.items ?? []).map(({ type }) => type), filter.type].filter(Boolean))
  const set = (change: Partial<WorkflowFilter>) => replaceRoute(withQuery(href('workflows'), { ...filter, ...change }))
  return (
    <search className="filter">
      <form onSubmit={event => event.preventDefault()}>
        <StateChips chosen={filter.state} change={state => set({ state })} />
        <div className="filter-fields">
          <label>
            <span>Class</span>
            <select value={filter.type} onChange={event => set({ type: event.target.value })}>
              <option value="">any</option>
              {[...types].toSorted().map(type => (
                <option key={type}>{type}</option>
              ))}
            </select>
          </label>
          <label>
            <span>Age</span>
            <select value={filter.age} onChange={event => set({ age: event.target.value })}>
              <option value="">any</option>
              {ages.map(({ name, label }) => (
                <option key={name} value={name}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <TextFilter label="Workflow or hero id" value={filter.q} change={q => set({ q })} />
          <TextFilter label="At node" value={filter.at} change={at => set({ at })} />
          <TextFilter label="Error contains" value={filter.error} change={error => set({ error })} />
          {!isEmptyFilter(filter) && (
            <button type="button" className="link" onClick={() => replaceRoute(href('workflows'))}>
              Clear filter
            </button>
          )}
        </div>
      </form>
    </search>
  )
}

interface ChipsProps {
  readonly chosen: readonly string[]
  readonly change: (states: readonly string[]) => void
}

function StateChips({ chosen, change }: ChipsProps) {
  return (
    <fieldset className="chips">
      <legend className="unseen">State</legend>
      {states.map(state => {
        const isChosen = chosen.includes(state)
        const { tone, icon } = lookOf(state)
        const others = chosen.filter(each => each !== state)
        return (
          <label key={state} className={`chip tone-${tone}`}>
            <input type="checkbox" checked={isChosen} onChange={() => change(isChosen ? others : [...others, state])} />
            <Icon name={icon} size={12} />
            {words(state)}
          </label>
        )
      })}
    </fieldset>
  )
}

interface TextProps {
  readonly label: string
  readonly value: string
  readonly change: (value: string) => void
}

/** Asked when the person has finished: each letter would be a question to the database. */
function TextFilter({ label, value, change }: TextProps) {
  const [typed, setTyped] = useState({ text: value, for: value })
  // The address has changed under it: by the way back, or because the filter was cleared.
  const text = typed.for === value ? typed.text : value
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        value={text}
        onChange={event => setTyped({ text: event.target.value, for: value })}
        onBlur={finished}
        onKeyDown={event => event.key === 'Enter' && finished()}
      />
    </label>
  )

  function finished(): void {
    if (text.trim() !== value) change(text.trim())
  }
}
