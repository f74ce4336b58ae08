/**
 * Prisma without a generator: its command line wants to download programs, but all that it writes for a schema without
 * models is this configuration.
 */
import { getPrismaClient } from '@prisma/client/runtime/client'
import type { Application } from './application.ts'

type Provider = 'postgresql' | 'mysql' | 'sqlite'

export function prismaClient(provider: Provider, adapter: object): any {
  const runtime = `@prisma/client/runtime/query_compiler_small_bg.${provider}`
  const Client = getPrismaClient({
    previewFeatures: [],
    clientVersion: '7.10.0',
    engineVersion: '0',
    activeProvider: provider,
    inlineSchema: `datasource db {\n  provider = "${provider}"\n}\n`,
    runtimeDataModel: { models: {}, enums: {}, types: {} },
    parameterizationSchema: { strings: [], graph: 'AAAA' },
    compilerWasm: {
      getRuntime: () => import(`${runtime}.mjs`),
      getQueryCompilerWasmModule: async () => {
        const { wasm } = await import(`${runtime}.wasm-base64.mjs`)
        return new (globalThis as any).WebAssembly.Module(Buffer.from(wasm, 'base64'))
      },
      importName: './query_compiler_small_bg.js',
    },
  } as unknown as Parameters<typeof getPrismaClient>[0])
  return new Client({ adapter } as any)
}

export function prismaApplication(client: any, placeholder: string): Application {
  return {
    transaction: work => client.$transaction(work),
    note: (tx, text) => tx.$executeRawUnsafe(`insert into application_notes (note) values (${placeholder})`, text),
    root: client,
    close: () => client.$disconnect(),
  }
}
