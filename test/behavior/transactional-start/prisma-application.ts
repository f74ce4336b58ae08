/**
 * Prisma without a generator: its command line wants to download programs, but all that it writes for a schema without
 * models is this configuration.
 */
import { getPrismaClient } from '@prisma/client/runtime/client'
import type { Application, Isolation } from './application.ts'

/** Part of every runtime, but of no declarations that are loaded here. */
const { WebAssembly } = globalThis as unknown as { WebAssembly: { Module: new (code: Uint8Array) => object } }

interface PrismaTransaction {
  $executeRawUnsafe(statement: string, ...values: unknown[]): Promise<number>
  $queryRawUnsafe(statement: string): Promise<unknown>
}

interface PrismaClient extends PrismaTransaction {
  $transaction<T>(work: (transaction: PrismaTransaction) => Promise<T>, settings?: object): Promise<T>
  $disconnect(): Promise<void>
}

type Provider = 'postgresql' | 'mysql' | 'sqlite'

export function prismaClient(provider: Provider, adapter: object): PrismaClient {
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
        return new WebAssembly.Module(Buffer.from(wasm, 'base64'))
      },
      importName: './query_compiler_small_bg.js',
    },
  } as unknown as Parameters<typeof getPrismaClient>[0])
  return new Client({ adapter } as ConstructorParameters<typeof Client>[0]) as unknown as PrismaClient
}

const isolationLevels = { serializable: 'Serializable' } as const

export function prismaApplication(
  client: PrismaClient,
  placeholder: string,
  isolation?: Isolation,
): Application<PrismaTransaction> {
  const settings = isolation && { isolationLevel: isolationLevels[isolation] }
  return {
    transaction: work => client.$transaction(work, settings),
    note: (tx, text) => tx.$executeRawUnsafe(`insert into application_notes (note) values (${placeholder})`, text),
    run: (tx, statement) => tx.$queryRawUnsafe(statement),
    root: client,
    close: () => client.$disconnect(),
  }
}
