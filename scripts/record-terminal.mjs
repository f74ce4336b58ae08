/**
 * `npm run record`: types every command into a real terminal (tmux, 100 columns), as a person would, and writes what the
 * terminal shows to `docs/guides/terminal.md`. Run it again when commands change; it needs tmux.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pass } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const session = `geneva-recording-${process.pid}`
const prompt = '$'
const patienceMs = 60_000
let lastShown = ''
const opening = `# The commands in a terminal

What every [command](command-line.md) prints, in a terminal of a hundred columns. The page is recorded: \`npm run record\` types
these lines into a shell and writes what the terminal shows. The application is \`scripts/terminal/demo.config.mjs\`.`

/**
 * What is typed, by chapter. A key like `q` is pressed after what stands before it is on the screen.
 *
 * @typedef {{ type: string, keys?: [after: string, key: string][] }} Line
 * @type {[chapter: string, lines: Line[]][]}
 */
const chapters = [
  [
    'Begin',
    [
      { type: 'geneva init shop --yes' },
      { type: 'geneva migrate status' },
      { type: 'geneva migrate' },
      { type: `geneva start Order --input '{"cents":4200}' --by ann` },
      { type: `geneva start Order --input '{"cents":900,"card":"empty"}' --tag friday` },
      { type: `geneva start Payout --input '{"account":"NL99"}'` },
      { type: 'geneva start Import' },
      { type: 'geneva worker', keys: [['Working', 'C-c']] },
    ],
  ],
  [
    'Look',
    [
      { type: 'geneva list' },
      { type: 'geneva list --state paused dlq --error declined' },
      { type: 'geneva show 100' },
      { type: 'geneva explain 200' },
      { type: 'geneva graph Order' },
      { type: 'geneva graph Order --format mermaid | head -5' },
      { type: 'geneva events --workflow 200' },
      { type: 'geneva list --watch', keys: [['AGE', 'q']] },
      { type: 'geneva dashboard', keys: [['is at', 'C-c']] },
    ],
  ],
  [
    'Steer',
    [
      { type: `geneva reattempt 200 charge --by ann --reason 'the bank is back'` },
      { type: `geneva resolve 200 charge --output '{"paid":900}' --by ann --reason 'paid at the desk'` },
      { type: 'geneva pause 100 --by ann' },
      { type: 'geneva resume 100 --by ann' },
      { type: `geneva abort 400 --yes --by ann` },
      { type: 'geneva worker --once' },
      { type: `geneva skip 200 approve --by ann --reason 'it ships itself'` },
      { type: `geneva decide 100 approve confirmed --by bob --comment 'goes out today'` },
      { type: `geneva signal 100 delivered --payload '{"signedBy":"Cy"}' --by courier` },
      { type: 'geneva cancel 200 --dry-run' },
      {
        type: `geneva cancel --tag friday --by ann --reason 'the customer asked'`,
        keys: [
          ['?', 'y'],
          ['y', 'Enter'],
        ],
      },
    ],
  ],
  [
    'Operate',
    [
      { type: 'geneva dlq list' },
      { type: `geneva dlq requeue {letter} --input '{"account":"NL01"}' --by ann` },
      { type: 'geneva worker --once' },
      { type: `geneva queues pause default --by ann --reason 'the provider is down'` },
      { type: 'geneva queues list' },
      { type: 'geneva queues resume default --by bob' },
      { type: 'geneva schedule list' },
      { type: 'geneva schedule trigger nightly --by ann' },
      { type: 'geneva stats' },
      { type: 'geneva health' },
      { type: `geneva stuck --for '0 ms'` },
      { type: `geneva prune --older-than '0 ms' --state finished --by ann --reason 'a tidy house'` },
      { type: 'geneva requests' },
    ],
  ],
  [
    'Keep in order',
    [
      { type: 'geneva check' },
      { type: 'geneva doctor' },
      { type: 'geneva list --older-than soon' },
      { type: 'geneva lst' },
      { type: 'geneva completion bash | head -3' },
    ],
  ],
]

const folder = mkdtempSync(join(tmpdir(), 'geneva-recording-'))
mkdirSync(join(folder, 'node_modules'))
symlinkSync(root, join(folder, 'node_modules/geneva-drive'))
copyFileSync(join(root, 'scripts/terminal/demo.config.mjs'), join(folder, 'geneva.config.mjs'))
const shell = ['env', '-u', 'DATABASE_URL', '-u', 'GENEVA_APP', 'TERM=screen-256color', 'bash', '--norc', '--noprofile']
tmux('new-session', '-d', '-s', session, '-x', '100', '-y', '200', '-c', folder, ...shell)
try {
  const program = `"${process.execPath}" "${join(root, 'dist/cli/command-line.js')}"`
  await send(`PS1='${prompt} '; geneva() { ${program} "$@"; }; clear`)
  const parts = []
  for (const [chapter, lines] of chapters) {
    const shown = []
    for (const line of lines) shown.push(await record(line))
    parts.push(`## ${chapter}\n\n\`\`\`text\n${shown.join('\n')}\n\`\`\``)
  }
  writeFileSync(join(root, 'docs/guides/terminal.md'), `${opening}\n\n${parts.join('\n\n')}\n`)
} finally {
  tmux('kill-session', '-t', session)
  rmSync(folder, { recursive: true, force: true })
}

/** @param {Line} line */
async function record({ type: line, keys = [] }) {
  // The id of a dead letter is told by the list before.
  const type = line.replace('{letter}', () => /^(\d+) {2}\w/m.exec(lastShown)?.[1] ?? '')
  await send('clear')
  tmux('send-keys', '-t', session, '-l', type)
  tmux('send-keys', '-t', session, 'Enter')
  let before = ''
  for (const [after, key] of keys) {
    before = await until(text => text.replace(type, '').includes(after))
    if (key === 'C-c') await pass(4000)
    tmux('send-keys', '-t', session, key)
  }
  const text = await until(isDone)
  // What is shown while it goes on is gone from the screen when it ends.
  const shown = text.trim() === '' || !text.includes(type) ? `${prompt} ${type}\n${before.trimEnd()}` : text
  lastShown = shown
  return shown
    .split('\n')
    .slice(0, -1)
    .map(line => line.trimEnd())
    .join('\n')
    .trim()
}

/** @param {string} text */
async function send(text) {
  tmux('send-keys', '-t', session, text, 'Enter')
  await until(isDone)
}

/** The last line is a prompt, with nothing behind it. @param {string} text */
function isDone(text) {
  return text.trimEnd().split('\n').at(-1) === prompt
}

/** @param {(text: string) => boolean} isSo */
async function until(isSo) {
  for (let waited = 0; waited < patienceMs; waited += 100) {
    await pass(100)
    const text = tmux('capture-pane', '-t', session, '-p').trimEnd()
    if (isSo(text)) return text
  }
  throw new Error(`The terminal did not come to it:\n${tmux('capture-pane', '-t', session, '-p')}`)
}

/** @param {...string} args */
function tmux(...args) {
  return execFileSync('tmux', args, { encoding: 'utf8' })
}
