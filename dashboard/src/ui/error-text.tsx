/** An error that a step threw, with its stack folded away. */
import type { ErrorRecord } from '../api/types.ts'
import { ScrollText } from './scroll-text.tsx'

export function ErrorText({ error }: { readonly error: ErrorRecord }) {
  return (
    <div className="step-error">
      <p>
        <strong>{error.name}</strong>: {error.message}
      </p>
      {error.stack && (
        <details>
          <summary>Stack</summary>
          <ScrollText label="Stack of the error" text={error.stack} />
        </details>
      )}
    </div>
  )
}
