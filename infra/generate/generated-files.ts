import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { migrate } from '@sluice/database'
import { Client } from 'pg'
import { root } from '../paths.ts'
import type { Cluster } from '../postgres/cluster.ts'
import { addMissingPlatforms, type LockFile } from './lock-file.ts'

const run = promisify(execFile)

/** A generated file in the repository: its path and its content. */
export type Artefact = { file: string; content: string | Buffer }

/** Returns the OpenAPI document that apps/<app>/bin/print-openapi.ts prints. */
export const generateOpenapi = async (app: string): Promise<Artefact> => {
  const { stdout } = await run(process.execPath, [join(root, 'apps', app, 'bin/print-openapi.ts')], {
    cwd: root,
    maxBuffer: 64e6,
  })
  return { file: `apps/${app}/openapi.json`, content: stdout }
}

/**
 * Returns the types of an app's tables, read from a freshly migrated database. The tables of the queue are left out.
 */
export const generateDatabaseTypes = async (app: string, postgres: Cluster): Promise<Artefact> => {
  const name = `generate_${app}`
  const admin = new Client({ connectionString: postgres.url('postgres') })
  await admin.connect()
  await admin.query(`create database ${name} strategy file_copy`)
  await admin.end()
  await migrate(postgres.url(name), join(root, 'apps', app, 'migrations'))
  const folder = await mkdtemp(join(tmpdir(), 'sluice-types-'))
  try {
    const file = join(folder, 'database.ts')
    // packages/database reads bigint as a number, and so do the types.
    const mapping = ['--type-mapping', '{"int8":"number"}']
    const flags = [
      ...mapping,
      '--dialect',
      'postgres',
      '--url',
      postgres.url(name),
      '--exclude-pattern',
      'pgboss.*',
      '--out-file',
      file,
    ]
    await run(join(root, 'node_modules/.bin/kysely-codegen'), flags, { cwd: folder })
    return { file: `apps/${app}/src/database.ts`, content: await readFile(file, 'utf8') }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Compiles the scanner of delimited text. It needs 900 pages of memory. */
export const compileCsvScanner = (): Promise<Artefact> =>
  compileAssemblyScript('packages/file-formats/assembly/scanner.ts', 'packages/file-formats/generated/scan.wasm', [
    '--initialMemory',
    '900',
  ])

/** Compiles the scanner of JSON. It needs 1,400 pages of memory. */
export const compileJsonScanner = (): Promise<Artefact> =>
  compileAssemblyScript(
    'packages/file-formats/assembly/json/json-scanner.ts',
    'packages/file-formats/generated/json.wasm',
    ['--initialMemory', '1400'],
  )

/** Compiles the calculation of table profiles. */
export const compileTableProfiler = (): Promise<Artefact> =>
  compileAssemblyScript('packages/row-stream/assembly/table-profiler.ts', 'packages/row-stream/generated/measure.wasm')

/** Compiles AssemblyScript. The same sources give the same bytes. */
const compileAssemblyScript = async (entry: string, file: string, memory: string[] = []): Promise<Artefact> => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-wasm-'))
  try {
    const out = join(folder, 'out.wasm')
    const flags = ['-O3', '--runtime', 'stub', '--enable', 'simd', '--noAssert', ...memory]
    await run(process.execPath, [join(root, 'node_modules/assemblyscript/bin/asc.js'), entry, '-o', out, ...flags], {
      cwd: root,
    })
    return { file, content: await readFile(out) }
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Returns package-lock.json with the packages of all platforms. */
export const generateLockFile = async (): Promise<Artefact> => {
  const file = 'package-lock.json'
  const text = await readFile(join(root, file), 'utf8')
  const lock = JSON.parse(text) as LockFile
  return { file, content: addMissingPlatforms(lock).length > 0 ? `${JSON.stringify(lock, null, 2)}\n` : text }
}
