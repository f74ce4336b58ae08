/** Runs a program to its end and gives back what it printed; a failure carries the output, so nobody has to dig for it. */
import { spawn } from 'node:child_process'

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions & { guard?: import('./guard.mjs').Guard }} [options]
 * @returns {Promise<string>} standard output and standard error, interleaved
 */
export function run(program, args, { guard, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, detached: guard !== undefined, stdio: ['ignore', 'pipe', 'pipe'] })
    guard?.watch(child)
    let output = ''
    child.stdout?.on('data', chunk => (output += chunk))
    child.stderr?.on('data', chunk => (output += chunk))
    child.once('error', reject)
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${program} ${args.join(' ')} ended with ${signal ?? `code ${code}`}:\n${output}`))
    })
  })
}
