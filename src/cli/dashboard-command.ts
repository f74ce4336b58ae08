/**
 * `geneva dashboard`: serves the dashboard on this machine, for this machine, until Ctrl-C. It runs no steps; workers do that
 * elsewhere. For other machines mount `geneva.handler({ authorize })` in an application.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Command, InvalidArgumentError as InvalidOption } from 'commander'
import { serveHandler } from '../http/node-adapter.ts'
import { loadGeneva } from './load-geneva.ts'

interface Flags {
  readonly port: number
  readonly host: string
  readonly open?: boolean
  readonly readOnly?: boolean
  readonly json?: boolean
}

export function dashboardCommand(): Command {
  return new Command('dashboard')
    .exitOverride()
    .description('serve the dashboard on this machine, until Ctrl-C')
    .argument('<module>', 'the module that exports your Geneva, as `geneva` or as its default')
    .option('--port <number>', 'where to listen; 0 takes a free port', portFrom, 4100)
    .option('--host <address>', 'a loopback address: others need geneva.handler({ authorize })', '127.0.0.1')
    .option('--open', 'open it in the browser')
    .option('--read-only', 'look, and change nothing')
    .option('--json', 'print the address as JSON')
    .addHelpText('after', '\nExample:\n  geneva dashboard ./dist/geneva.js --open')
    .action(serve)
}

async function serve(module: string, { port, host, open, readOnly = false, json }: Flags): Promise<void> {
  const geneva = await loadGeneva(module)
  try {
    const served = await serveHandler(geneva.handler({ readOnly }), { port, host })
    const url = `${served.url}/`
    console.log(json ? JSON.stringify({ url, readOnly }) : `The dashboard is at ${url} (Ctrl-C ends it)`)
    if (open) openBrowser(url)
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
    await served.close()
  } finally {
    await geneva.close()
  }
}

function portFrom(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1
  if (port >= 0 && port <= 65_535) return port
  throw new InvalidOption('It takes a port from 0 to 65535.')
}

/** Where no browser can be opened the address stands above, and that is enough. */
export function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === 'darwin' ? ['open'] : process.platform === 'win32' ? ['cmd', '/c', 'start', ''] : ['xdg-open']
  spawn(program ?? 'xdg-open', [...args, url], { stdio: 'ignore', detached: true })
    .once('error', () => {})
    .unref()
}
