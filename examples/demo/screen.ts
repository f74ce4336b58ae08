/**
 * The terminal: a story that scrolls by, and below it a table that is redrawn in place. Where the output is no
 * terminal, or too small a one, there is only the story.
 */
const { stdout } = process

const hideCursor = '\x1b[?25l'
const showCursor = '\x1b[?25h'
const smallest = { columns: 78, rows: 16 }

export class Screen {
  readonly #live = stdout.isTTY && stdout.columns >= smallest.columns && stdout.rows >= smallest.rows
  #table = ''
  #height = 0

  constructor() {
    if (this.#live) stdout.write(hideCursor)
    // Whoever read along has left, as `head` does.
    stdout.once('error', () => process.exit(1))
  }

  /** One line of the story, above the table. */
  tell(line = ''): void {
    stdout.write(`${this.#erased()}${line}\n${this.#table}`)
  }

  /** Puts a new table in place of the last one. A line may not be wider than the terminal. */
  show(lines: readonly string[]): void {
    if (!this.#live) return
    const table = lines.map(line => `${line}\n`).join('')
    if (table === this.#table) return
    const erased = this.#erased()
    this.#table = table
    this.#height = lines.length
    stdout.write(erased + table)
  }

  /** Leaves the table where it stands and gives the terminal back. May be called twice. */
  leave(): void {
    if (this.#live) stdout.write(showCursor)
    this.#table = ''
    this.#height = 0
  }

  #erased(): string {
    return this.#height === 0 ? '' : `\x1b[${this.#height}A\x1b[J`
  }
}
