/** Types of chromium.mjs, for the tests. */
export const launchArguments: string[]
export function chromiumProgram(): Promise<string>
