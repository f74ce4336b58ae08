/**
 * `geneva completion`: a script that makes a shell complete commands and options. It is made from the commands themselves, so
 * that it cannot fall behind; it asks no database.
 */
import { Argument, type Command } from 'commander'
import { AppCommand } from './app-command.ts'

type Shell = 'bash' | 'zsh' | 'fish'

export function completionCommand(): AppCommand {
  const command = new AppCommand('completion', {
    description: 'print a script that completes commands and options in your shell',
    examples: [
      ['completion bash >> ~/.bashrc', 'for bash'],
      ['completion zsh > ~/.zfunc/_geneva', 'for zsh, with fpath=(~/.zfunc $fpath) before compinit'],
      ['completion fish > ~/.config/fish/completions/geneva.fish', 'for fish'],
    ],
  })
  return command
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .action((shell: Shell) => {
      const words = wordsOf(command.parent ?? command)
      console.log({ bash, zsh, fish }[shell](words))
    })
}

/** What may follow a command: the words behind it, and its options. */
interface Words {
  /** Empty for the program itself; `dlq list` for a command of a group. */
  readonly path: string
  readonly commands: readonly { readonly name: string; readonly description: string }[]
  readonly options: readonly { readonly name: string; readonly description: string }[]
}

function wordsOf(command: Command, path = ''): Words[] {
  const inner = command.commands.flatMap(each => wordsOf(each, `${path} ${each.name()}`.trim()))
  const own = {
    path,
    commands: command.commands.map(each => ({ name: each.name(), description: each.description() })),
    options: [
      ...command.options.flatMap(({ long, hidden, description }) =>
        long && !hidden ? [{ name: long, description }] : [],
      ),
      { name: '--help', description: 'how it is used' },
    ],
  }
  return [own, ...inner]
}

function bash(words: readonly Words[]): string {
  const cases = words.map(({ path, commands, options }) => {
    const all = [...commands, ...options].map(({ name }) => name).join(' ')
    return `    ${JSON.stringify(path)}) words=${JSON.stringify(all)} ;;`
  })
  return `_geneva() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path|$word" in
${pathCases(words)}
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _geneva geneva
`
}

/** Which words lead from one place to the next. */
function pathCases(words: readonly Words[]): string {
  return words
    .filter(({ path }) => path !== '')
    .map(({ path }) => {
      const parts = path.split(' ')
      const last = parts.pop() ?? ''
      return `      ${JSON.stringify(`${parts.join(' ')}|${last}`)}) path=${JSON.stringify(path)} ;;`
    })
    .join('\n')
}

function zsh(words: readonly Words[]): string {
  const cases = words.map(({ path, commands, options }) => {
    const all = [...commands, ...options].map(each => quoted(`${each.name.replaceAll(':', '\\:')}:${each.description}`))
    return `    ${JSON.stringify(path)}) entries=(${all.join(' ')}) ;;`
  })
  return `#compdef geneva
_geneva() {
  local place="" word
  local -a entries
  for word in "\${words[@]:1:CURRENT-2}"; do
    case "$place|$word" in
${pathCases(words).replaceAll(' path=', ' place=')}
    esac
  done
  case "$place" in
${cases.join('\n')}
  esac
  _describe 'geneva' entries || _files
}
_geneva "$@"
`
}

function fish(words: readonly Words[]): string {
  const lines = words.flatMap(({ path, commands, options }) => {
    const seen = path.split(' ').filter(word => word !== '')
    const inside = seen.map(word => `__fish_seen_subcommand_from ${word}`)
    const none = commands.map(({ name }) => name).join(' ')
    const here = [...inside, ...(none === '' ? [] : [`not __fish_seen_subcommand_from ${none}`])].join('; and ')
    const condition = here === '' ? '' : ` -n ${quoted(here)}`
    return [
      ...commands.map(each => `complete -c geneva -f${condition} -a ${each.name} -d ${quoted(each.description)}`),
      ...options.map(each => `complete -c geneva${condition} -l ${each.name.slice(2)} -d ${quoted(each.description)}`),
    ]
  })
  return `${lines.join('\n')}\n`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "'\\''")}'`
}
