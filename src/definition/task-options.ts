/** Which options a task has: those of the kind of code that its method is. */
import type { CodeOptions } from './flow-options.ts'
import type { Names } from './step-names.ts'
import type { ResumableTaskOptions, TaskOptions, TransactionalTaskOptions } from './step-options.ts'

/** The options of a task, told by what its method receives. */
export type TaskOptionsFor<W, K> = K extends Names<W>['step']
  ? TaskOptions<W> & CodeOptions<W>
  : K extends Names<W>['transactional']
    ? TransactionalTaskOptions<W>
    : ResumableTaskOptions<W>
