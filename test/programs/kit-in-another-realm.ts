/**
 * Runs the example under `node:test` inside a context with its own globals, the way jest loads tests and packages. Needs
 * `--experimental-vm-modules`, as jest does for ECMAScript modules.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import vm from 'node:vm'

const { console, process, performance, queueMicrotask, setTimeout, clearTimeout } = globalThis
const { AbortController, Buffer, URL, structuredClone } = globalThis
const context = vm.createContext({
  ...{ console, process, performance, queueMicrotask, setTimeout, clearTimeout },
  ...{ AbortController, Buffer, URL, structuredClone },
})
// Node 20 defines the symbol in its main context only; jest brings its own.
vm.runInContext(`Symbol.asyncDispose ?? (Symbol.asyncDispose = Symbol.for('nodejs.asyncDispose'))`, context)

const modules = new Map<string, Promise<vm.Module>>()

function load(url: string): Promise<vm.Module> {
  const known = modules.get(url) ?? (url.startsWith('file:') ? fromSource(url) : fromOutside(url))
  modules.set(url, known)
  return known
}

async function fromSource(url: string): Promise<vm.Module> {
  return new vm.SourceTextModule(readFileSync(fileURLToPath(url), 'utf8'), {
    context,
    identifier: url,
    importModuleDynamically: specifier => evaluate(resolve(specifier, url)),
  })
}

/** Node's own modules and those of other packages stay in the main context. */
async function fromOutside(name: string): Promise<vm.Module> {
  const namespace: Record<string, unknown> = await import(name)
  const names = Object.keys(namespace)
  const copy = new vm.SyntheticModule(names, () => names.forEach(key => copy.setExport(key, namespace[key])), {
    context,
    identifier: name,
  })
  return copy
}

async function evaluate(url: string): Promise<vm.Module> {
  const module = await load(url)
  if (module.status === 'unlinked') await module.link((specifier, from) => load(resolve(specifier, from.identifier)))
  await module.evaluate()
  return module
}

function resolve(specifier: string, from: string): string {
  return specifier.startsWith('.') ? new URL(specifier, from).href : specifier
}

await evaluate(new URL('./signup-under-node-test.js', import.meta.url).href)
