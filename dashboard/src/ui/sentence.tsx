/**
 * A sentence from the server, for reading: moments in the zone of the person, and links to what it names. Everything else
 * stays the text that it is.
 */
import { Fragment } from 'react'
import { href } from '../routing/route.ts'
import { WorkflowLink } from './link.tsx'
import { sentenceParts } from './sentence-parts.ts'
import { Moment } from './time.tsx'
import { shortOwners } from './wording.ts'

export function Sentence({ text }: { readonly text: string }) {
  return sentenceParts(text).map((part, index) => {
    const key = `${index} ${part.text}`
    if (part.kind === 'time') return <Moment key={key} at={part.text} />
    if (part.kind === 'workflow') return <WorkflowLink key={key} id={part.text} />
    if (part.kind === 'text') return <Fragment key={key}>{shortOwners(part.text)}</Fragment>
    return (
      <a key={key} href={href('dead-letters', part.text)}>
        letter {part.text}
      </a>
    )
  })
}
