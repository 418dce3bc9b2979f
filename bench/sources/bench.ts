import { availableParallelism, totalmem, loadavg, tmpdir } from 'node:os'
import { type SourceResult, type BenchContext, type Reference, createReference } from './measures/measure.ts'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runStep } from '../../infra/compose-smoke/run-step.ts'
import { root } from '../../infra/paths.ts'
import { reportFailure } from '../../infra/user-error.ts'
import { installMissingNpmPackages, programsFolder } from '../../infra/test/install-npm-packages.ts'
import { executeSql } from '../load/database.ts'
import { startInstallation } from '../load/installation.ts'
import { startStore } from '../load/object-folder.ts'
import { formatTarget } from '../load/markdown-report.ts'
import { csv, parquet } from './measures/files.ts'
import { mariadb, postgres } from './measures/databases.ts'
import { objects } from './measures/object-stores.ts'
import { publicDataset } from './measures/public-dataset.ts'
import { system, systemNames } from './measures/http-systems.ts'

/**
 * `npm run bench:sources [-- options]`: measures each source against a raw download of the same bytes. See README.md.
 */

const measureNames = ['csv', 'parquet', 'dataset', 'postgres', 'mariadb', 's3', 'azure', ...systemNames]

const { values: options } = parseArgs({
  options: {
    /** Writes the report to bench/results/sources.md. */
    write: { type: 'boolean', default: false },
    /** Names of measures, separated by commas. */
    only: { type: 'string', default: measureNames.join() },
    rows: { type: 'string', default: '40000' },
    megabytes: { type: 'string', default: '100' },
    objects: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '3' },
    /** Folder of the data files. */
    data: { type: 'string', default: join(tmpdir(), 'sluice-bench-data') },
  },
})

process.env['SLUICE_TEST_PROGRAMS'] ??= programsFolder

async function* measureSources(context: BenchContext, names: string[]): AsyncGenerator<SourceResult | undefined> {
  let created: Promise<Reference> | undefined
  const reference = () => (created ??= createReference(context))
  const measures: Readonly<Record<string, () => Promise<SourceResult | undefined>>> = {
    csv: async () => csv(context, await reference()),
    parquet: async () => parquet(context, await reference()),
    dataset: async () => publicDataset(context, await reference()),
    postgres: async () => postgres(context, await reference()),
    mariadb: async () => mariadb(context, await reference()),
  }
  for (const name of names) {
    if (name === 's3' || name === 'azure') yield* measureStore(context, name, reference)
    else yield await (measures[name] ?? (() => system(context, name)))()
  }
}

async function* measureStore(context: BenchContext, name: 's3' | 'azure', reference: () => Promise<Reference>) {
  if (name === 'azure') await installMissingNpmPackages()
  await using running = await startStore(name === 's3' ? 'OBJECT_STORAGE_BUCKET' : 'CLOUD_BLOB_STORAGE')
  if (running) yield* objects(context, running, await reference())
}

async function runBench(): Promise<void> {
  const unknownNames = options.only.split(',').filter((name) => !measureNames.includes(name))
  if (unknownNames.length > 0) {
    throw new Error(`--only: unknown ${unknownNames.join(', ')}. Known names: ${measureNames.join(', ')}.`)
  }
  await mkdir(options.data, { recursive: true })
  await using installation = await runStep('Sluice is ready', startInstallation)
  await executeSql(installation.databaseUrl('postgres'), 'create database bench_peers')
  const context: BenchContext = {
    installation,
    peers: installation.databaseUrl('bench_peers'),
    folder: options.data,
    rows: Number(options.rows),
    megabytes: Number(options.megabytes),
    objects: Number(options.objects),
    rounds: Number(options.rounds),
  }
  const lines = [head()]
  const targets: string[] = []
  const loads: number[] = []
  console.log(lines[0])
  for await (const line of measureSources(context, options.only.split(','))) {
    if (!line) continue
    loads.push(loadavg()[0]!)
    lines.push(row(line))
    console.log(lines.at(-1))
    targets.push(...line.targets.map((target) => formatTarget({ ...target, text: `${line.label}: ${target.text}` })))
  }
  console.log(`\n${targets.join('\n')}`)
  if (!options.write) return
  const machineLoad = `Load of the machine during the bench: ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`
  await writeFile(
    join(root, 'bench/results/sources.md'),
    `${heading(context.rounds, machineLoad)}${lines.join('\n')}\n\n${targets.join('\n')}\n`,
  )
}

const cells = (texts: (string | number)[]): string => `| ${texts.join(' | ')} |`
const seconds = (milliseconds: number): string => (milliseconds / 1000).toFixed(2)
const rate = (amount: number, milliseconds: number): number => amount / (milliseconds / 1000)

const heads = [
  'type',
  'measure',
  'rows',
  'MB',
  'raw s',
  'Sluice s',
  'rows/s',
  'MB/s',
  'time / raw',
  'CPU s of the worker',
  'rows per CPU s',
  'worker peak MiB',
]

const head = (): string => [cells(heads), cells(heads.map((_, index) => (index < 2 ? '---' : '---:')))].join('\n')

const row = (line: SourceResult): string => {
  const { type, label, rows, bytes, raw, sluice, workerMs } = line
  const rowsEach = Math.round(rate(rows, sluice.milliseconds)).toLocaleString('en')
  return cells([
    `\`${type}\``,
    sluice.hasOtherRows ? `${label} **(other rows)**` : label,
    rows.toLocaleString('en'),
    (bytes / 1e6).toFixed(1),
    seconds(raw.milliseconds),
    seconds(sluice.milliseconds),
    rowsEach,
    rate(bytes / 1e6, sluice.milliseconds).toFixed(1),
    (sluice.milliseconds / raw.milliseconds).toFixed(2),
    seconds(workerMs),
    Math.round(rate(rows, workerMs)).toLocaleString('en'),
    sluice.memory.toFixed(0),
  ])
}

const heading = (rounds: number, load: string): string => `# Source performance

${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB of memory, Node ${process.versions.node}; the source, PostgreSQL, the service and the bench share
them. Medians of ${rounds} rounds in turns; the rows of every load were compared with the expected rows by count and checksum.
"raw" is the same bytes transferred by plain fetch or the client of the database, and discarded. The
time of Sluice is that of a whole run, queue, types, staging, ledger and swap included. Responses of systems come from memory on both sides, over
loopback: 40 MB/s are a line of 320 Mbit/s. ${load}

`

await runBench().catch(reportFailure)
