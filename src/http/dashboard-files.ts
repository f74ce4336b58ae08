/** The files of the dashboard as the build has left them, read once and kept. Paths are looked up, never joined, so none leads elsewhere. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pagePolicy, securityHeaders } from './security.ts'

interface DashboardFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly type: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
}

/** Beside the compiled code, and for code that is not, where the build puts it. */
const places = ['../dashboard/', '../../dist/dashboard/', '../../../dist/dashboard/']

export class DashboardFiles {
  #files: Promise<ReadonlyMap<string, DashboardFile>> | null = null

  /** The file, or for any other path the page itself, which knows its own paths. `null` when the dashboard was not built. */
  async answer(path: string, basePath: string): Promise<Response | null> {
    this.#files ??= readFiles()
    const files = await this.#files
    const found = files.get(path.slice(1))
    if (found !== undefined && path !== '/index.html') return fileResponse(found, path.startsWith('/assets/'))
    const page = files.get('index.html')
    if (page === undefined || path.startsWith('/assets/')) return null
    // Paths in the page are relative to where it is mounted, however deep the path that was asked for.
    const html = Buffer.from(page.bytes).toString('utf8').replace('<head>', `<head><base href="${basePath}/">`)
    return new Response(html, { headers: { ...securityHeaders(pagePolicy), 'content-type': page.type } })
  }
}

function fileResponse({ bytes, type }: DashboardFile, isHashed: boolean): Response {
  const cache = isHashed ? { 'cache-control': 'public, max-age=31536000, immutable' } : {}
  return new Response(bytes, { headers: { ...securityHeaders(pagePolicy), ...cache, 'content-type': type } })
}

async function readFiles(): Promise<Map<string, DashboardFile>> {
  const folder = places.map(place => fileURLToPath(new URL(place, import.meta.url))).find(isBuilt)
  if (folder === undefined) return new Map()
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return new Map(
    await Promise.all(
      files.map(async file => {
        const type = types[extname(file)] ?? 'application/octet-stream'
        const bytes = new Uint8Array(await readFile(file))
        return [relative(folder, file).split(sep).join('/'), { bytes, type }] as const
      }),
    ),
  )
}

function isBuilt(folder: string): boolean {
  return existsSync(join(folder, 'index.html'))
}
