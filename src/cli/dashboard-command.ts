/**
 * `geneva dashboard`: serves the dashboard on this machine, for this machine, until Ctrl-C. It runs no steps; workers do that
 * elsewhere. For other machines mount `geneva.handler({ authorize })` in an application.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { InvalidArgumentError } from 'commander'
import { serveHandler } from '../http/node-adapter.ts'
import { AppCommand, type Shared, withGeneva } from './app-command.ts'
import { note, printJson } from './terminal.ts'

interface Flags extends Shared {
  readonly port: number
  readonly host: string
  readonly open?: boolean
  readonly readOnly?: boolean
}

export function dashboardCommand(): AppCommand {
  return new AppCommand('dashboard', {
    description: 'serve the dashboard on this machine, until Ctrl-C',
    examples: [
      ['dashboard --open', 'the workflows of geneva.config.*, in the browser'],
      ['dashboard ./dist/geneva.js --port 0', 'on a port that is free'],
      ['dashboard --database "$DATABASE_URL" --read-only', 'look at production, change nothing'],
    ],
    more: 'It answers this machine alone and asks nobody for a password. For others mount geneva.handler({ authorize }). It runs no steps: start a worker for that. Without the code, workflows can be looked at and steered, not started.',
  })
    .option('--port <number>', 'where to listen; 0 takes a port that is free', portFrom, 4100)
    .option('--host <address>', 'a loopback address', '127.0.0.1')
    .option('--open', 'open it in the browser')
    .option('--read-only', 'look, and change nothing')
    .locating()
    .action(serve)
}

async function serve(flags: Flags): Promise<void> {
  const { port, host, open, readOnly = false, json } = flags
  await withGeneva({ ...flags, looks: readOnly }, async geneva => {
    // Before anybody is told where it is: without a database it would have nothing to show.
    await geneva.views.definitions()
    const served = await serveHandler(geneva.handler({ readOnly }), { port, host })
    const url = `${served.url}/`
    const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
    if (json) printJson({ url, readOnly })
    else note(`The dashboard is at ${url} (Ctrl-C ends it)`)
    if (open) openBrowser(url)
    await stopped
    await served.close()
    if (!json) note('Stopped.')
  })
}

function portFrom(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (port >= 0 && port <= 65_535) return port
  throw new InvalidArgumentError('It takes a port from 0 to 65535.')
}

/** Where no browser can be opened the address stands above, and that is enough. */
function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  spawn(program ?? 'xdg-open', [...args, url], { stdio: 'ignore', detached: true })
    .once('error', () => {})
    .unref()
}
