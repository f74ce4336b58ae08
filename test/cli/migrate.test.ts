/** `geneva migrate`, run as a person runs it: the built program in a process of its own. */
import { execFile } from 'node:child_process'
import { expect, it } from 'vitest'
import { forEachDatabaseAtOnce } from '../support/databases.ts'

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function geneva(...args: string[]): Promise<Ended> {
  const env = { ...process.env, DATABASE_URL: undefined }
  return new Promise(resolve => {
    execFile(process.execPath, ['.build/src/cli/command-line.js', ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

forEachDatabaseAtOnce('geneva migrate', database => {
  it('tells that tables are missing, makes them, and finds them up to date', async () => {
    const { url } = await database.isolated()
    const before = await geneva('migrate', '--database', url, '--check')
    expect(before).toMatchObject({ code: 3, stdout: '' })
    expect(before.stderr).toContain('Run `geneva migrate`')
    expect(await geneva('migrate', '--database', url)).toMatchObject({ code: 0, stderr: 'The tables are ready.\n' })
    const after = await geneva('migrate', '--database', url, '--check', '--json')
    expect(after).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(after.stdout)).toEqual({ upToDate: true, message: 'The tables are up to date.' })
  })
})

it('answers a mistake with what to do and no stack trace', async () => {
  const answers = await Promise.all([
    geneva('migrate'),
    geneva('migrate', '--database', 'oracle://x'),
    geneva('migrate', '--database', 'postgres://127.0.0.1:1/none'),
    geneva('migrate', '--database', 'sqlite:x.db', '--prefix', 'a; drop'),
    geneva('migrat'),
  ])
  expect(answers).toMatchObject([
    { code: 1, stderr: expect.stringContaining('Use --database <url>') },
    {
      code: 1,
      stderr:
        'geneva: The database scheme oracle: is not known. Use sqlite:app.db, postgres://user@host/name or mysql://user@host/name.\n',
    },
    { code: 1, stderr: expect.stringMatching(/^geneva: .*ECONNREFUSED.*\n$/) },
    { code: 1, stderr: expect.stringContaining('The prefix "a; drop" is not allowed') },
    { code: 2 },
  ])
})
