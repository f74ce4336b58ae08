/** stub */
import type { Store } from '../store/store.ts'
export interface DoctorOptions {
  readonly workflow?: string
}
export interface DoctorFinding {
  readonly workflowId: string
}
export interface DoctorReport {
  readonly findings: readonly DoctorFinding[]
}
export async function examine(_store: Store, _options: DoctorOptions): Promise<DoctorReport> {
  return { findings: [] }
}
