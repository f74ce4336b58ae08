/** A compensation that was given up is attempted again, also after its workflow has ended. Pure changes to a draft. */
import { InvalidStateError } from '../errors.ts'
import type { NewLetter } from '../store/change.ts'
import type { ChangeDraft, Request } from './change-draft.ts'
import { isEnd } from './end-watch.ts'
import type { Plan } from './plan.ts'
import { insertCompensation, nodeToUndo, undoSlot } from './rollback.ts'

/** While another compensation is under way it waits for its turn. The workflow keeps the state that it has ended in. */
export function requeueCompensation(draft: ChangeDraft, letter: NewLetter, request: Request, plan: Plan): void {
  const undoes = draft.triedUndos().find(undo => undo.id === letter.executionId)?.undoes
  const row = draft.undoRows().find(candidate => candidate.id === undoes)
  const undone = row === undefined ? null : nodeToUndo(plan, { ...row, state: 'completed', outcome: 'success' })
  if (row === undefined || undone === null) {
    const { id, state } = draft.facts.workflow
    throw new InvalidStateError(
      id,
      state,
      `requeue a compensation of`,
      `The code has nothing that undoes ${letter.node}.`,
    )
  }
  draft.closeLetter(letter, 'requeued', request)
  if (row.state === 'failed') draft.moveEnded(row, 'compensating')
  const { rollback } = draft.workflow
  if (draft.rowIn(undoSlot) === null) insertCompensation(draft, plan, { ...undone, row, runOn: null })
  else if (rollback !== null && !isEnd(draft.state)) draft.setWorkflow({ rollback: { ...rollback, requeued: true } })
}
