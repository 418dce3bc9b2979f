import { mkdir, rm, writeFile } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { step } from '../../infra/compose-smoke/step.ts'
import { root } from '../../infra/paths.ts'
import { refuse } from '../../infra/refusal.ts'
import { installMissingPrograms, programsFolder } from '../../infra/test/npm-programs.ts'
import { runOn } from '../load/database.ts'
import { startInstallation } from '../load/installation.ts'
import type { Line, Parts } from './line.ts'
import { csv, parquet } from './measures/files.ts'
import { mariadb, postgres } from './measures/databases.ts'
import { publicDataset } from './measures/public-dataset.ts'
import { system, systemNames } from './measures/systems.ts'
import { type Reference, referenceOf } from './reference.ts'
import { head, heading, row } from './report.ts'

/** `npm run bench:sources [-- options]`: how fast each kind of source is read, beside its raw download; see README.md here. */

const { values: options } = parseArgs({
  options: {
    /** Keeps the report in bench/results/sources.md. */
    write: { type: 'boolean', default: false },
    /** Names of measures, with commas. */
    only: {
      type: 'string',
      default: ['csv', 'parquet', 'dataset', 'postgres', 'mariadb', 's3', 'azure', ...systemNames].join(),
    },
    rows: { type: 'string', default: '40000' },
    megabytes: { type: 'string', default: '100' },
    objects: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '3' },
    /** Where the data files are kept. */
    data: { type: 'string', default: join(tmpdir(), 'sluice-bench-data') },
  },
})

process.env['SLUICE_TEST_PROGRAMS'] ??= programsFolder

async function* measured(parts: Parts, names: string[]): AsyncGenerator<Line | undefined> {
  let made: Promise<Reference> | undefined
  const reference = () => (made ??= referenceOf(parts))
  const one: Readonly<Record<string, () => Promise<Line | undefined>>> = {
    csv: async () => csv(parts, await reference()),
    parquet: async () => parquet(parts, await reference()),
    dataset: async () => publicDataset(parts, await reference()),
    postgres: async () => postgres(parts, await reference()),
    mariadb: async () => mariadb(parts, await reference()),
  }
  for (const name of names) {
    if (name === 's3' || name === 'azure') yield* inStore(parts, name, reference)
    else yield await (one[name] ?? (() => system(parts, name)))()
  }
}

async function* inStore(parts: Parts, name: 's3' | 'azure', reference: () => Promise<Reference>) {
  if (name === 'azure') await installMissingPrograms()
  // Whoever imports them looks for what is installed.
  const { kindsOfStores } = await import('../../packages/connectors/src/object-store/test/stores.ts')
  const { objects } = await import('./measures/objects.ts')
  const type = name === 's3' ? 'OBJECT_STORAGE_BUCKET' : 'CLOUD_BLOB_STORAGE'
  yield* objects(parts, kindsOfStores.find((kind) => kind.type === type)!, reference)
}

async function bench(): Promise<void> {
  const folder = join(tmpdir(), `sluice-bench-${process.pid}`)
  await mkdir(folder)
  await mkdir(options.data, { recursive: true })
  await using cleaned = new AsyncDisposableStack()
  cleaned.defer(() => rm(folder, { recursive: true, force: true }))
  const installation = cleaned.use(await step('Sluice is up', () => startInstallation(folder)))
  await runOn(installation.databaseUrl('postgres'), 'create database bench_peers')
  const parts: Parts = {
    installation,
    peers: installation.databaseUrl('bench_peers'),
    folder: options.data,
    rows: Number(options.rows),
    megabytes: Number(options.megabytes),
    objects: Number(options.objects),
    rounds: Number(options.rounds),
  }
  const said = [head()]
  const loads: number[] = []
  console.log(said[0])
  for await (const line of measured(parts, options.only.split(','))) {
    if (!line) continue
    loads.push(loadavg()[0]!)
    said.push(row(line))
    console.log(said.at(-1))
  }
  if (!options.write) return
  const results = join(root, 'bench/results')
  await mkdir(results, { recursive: true })
  const busy = `Load of the machine meanwhile: ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}.`
  await writeFile(join(results, 'sources.md'), `${heading(parts.rounds, busy)}${said.join('\n')}\n`)
}

await bench().catch(refuse)
