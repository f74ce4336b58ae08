/** A folder for command lines, with modules that know a database and no code. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { CommandShell } from './command-shell.ts'
import { libraryUrl } from './run-geneva.ts'

export interface BareApplication {
  readonly shell: CommandShell
  /** A new one for each command: what is loaded once in a process is closed when the first is done with it. */
  moduleFor(url: string): string
}

/** For the tests of one file, and gone after them. */
export function bareApplication(name: string): BareApplication {
  const folder = mkdtempSync(join(tmpdir(), `geneva-${name}-`))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  let modules = 0
  return {
    shell: new CommandShell(folder, null),
    moduleFor(url) {
      const path = join(folder, `app-${++modules}.mjs`)
      const code = `import { Geneva } from ${JSON.stringify(libraryUrl)}
export const geneva = new Geneva({ database: ${JSON.stringify(url)} })`
      writeFileSync(path, code)
      return path
    },
  }
}
