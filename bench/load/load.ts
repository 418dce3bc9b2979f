import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { step } from '../../infra/compose-smoke/step.ts'
import { root } from '../../infra/paths.ts'
import { refuse } from '../../infra/refusal.ts'
import type { KindName } from './data/kinds.ts'
import { runOn } from './database.ts'
import { startInstallation } from './installation.ts'
import { beside } from './measures/beside.ts'
import { csv } from './measures/csv.ts'
import { postgresToPostgres } from './measures/databases.ts'
import { mariadb } from './measures/mariadb.ts'
import type { Parts, Report } from './measures/measure.ts'
import { parquet } from './measures/parquet.ts'
import { heading, markdown } from './report.ts'

/** `npm run bench:load [-- options]`: how fast rows get into the warehouse, next to other tools; see README.md here. */

const { values: options } = parseArgs({
  options: {
    /** Keeps the report in bench/results/load.md. */
    write: { type: 'boolean', default: false },
    /** Names of measures, with commas. */
    only: { type: 'string', default: 'csv,parquet,postgres,mariadb,beside' },
    kinds: { type: 'string', default: 'wide,narrow,quoted' },
    /** Megabytes, with commas, fewest first. */
    sizes: { type: 'string', default: '10,100,1000' },
    rounds: { type: 'string', default: '3' },
    /** Where the data files are kept. */
    data: { type: 'string', default: join(tmpdir(), 'sluice-bench-data') },
  },
})

const measures: Record<string, (parts: Parts) => AsyncGenerator<Report>> = {
  csv: (parts) => csv(parts, options.kinds.split(',') as KindName[]),
  parquet: (parts) => parquet(parts, Math.max(...parts.sizes)),
  postgres: (parts) => postgresToPostgres(parts, Math.max(...parts.sizes)),
  // pgloader needs minutes for more.
  mariadb: (parts) => mariadb(parts, Math.min(100, Math.max(...parts.sizes))),
  beside: (parts) => beside(parts, Math.max(...parts.sizes)),
}

async function bench(): Promise<void> {
  const folder = join(tmpdir(), `sluice-bench-${process.pid}`)
  await mkdir(folder)
  await using cleaned = new AsyncDisposableStack()
  cleaned.defer(() => rm(folder, { recursive: true, force: true }))
  const installation = cleaned.use(await step('Sluice is up', () => startInstallation(folder)))
  await runOn(installation.databaseUrl('postgres'), 'create database bench_peers')
  const parts: Parts = {
    installation,
    peers: installation.databaseUrl('bench_peers'),
    folder: options.data,
    sizes: options.sizes.split(',').map(Number),
    rounds: Number(options.rounds),
  }
  const said = []
  for (const name of options.only.split(','))
    for await (const report of measures[name]!(parts)) {
      said.push(markdown(report))
      console.log(said.at(-1))
    }
  if (!options.write) return
  const results = join(root, 'bench/results')
  await mkdir(results, { recursive: true })
  await writeFile(join(results, 'load.md'), heading(parts.rounds) + said.join('\n'))
}

await bench().catch(refuse)
