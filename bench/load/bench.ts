import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runStep } from '../../infra/compose-smoke/run-step.ts'
import { root } from '../../infra/paths.ts'
import { reportFailure } from '../../infra/user-error.ts'
import { keepProcessorsBusy } from '../busy-processors.ts'
import type { KindName } from './data-files.ts'
import { executeSql } from './database.ts'
import { startInstallation } from './installation.ts'
import { requestsDuringLoad } from './measures/requests-during-load.ts'
import { backlog } from './measures/backlog.ts'
import { csv } from './measures/csv.ts'
import { postgresToPostgres } from './measures/postgres-to-postgres.ts'
import { excel } from './measures/excel.ts'
import { exports } from './measures/exports.ts'
import { firstIncrement } from './measures/first-increment.ts'
import { growth } from './measures/memory-growth.ts'
import { httpSystems } from './measures/http-system.ts'
import { mariadb } from './measures/mariadb.ts'
import type { BenchContext, MeasureReport } from './measures/measure.ts'
import { ndjson } from './measures/ndjson.ts'
import { oneRow } from './measures/one-row.ts'
import { parquet } from './measures/parquet.ts'
import { profile } from './measures/table-profiles.ts'
import { manyTables } from './measures/many-tables.ts'
import { wideColumns } from './measures/wide-columns.ts'
import { formatHeading, formatSection } from './markdown-report.ts'

/** `npm run bench:load [-- options]`: measures loads into the warehouse against other tools. See README.md. */

const { values: options } = parseArgs({
  options: {
    /** Writes the report to bench/results/load.md. */
    write: { type: 'boolean', default: false },
    /** Names of measures, separated by commas. */
    only: {
      type: 'string',
      default:
        'csv,profile,ndjson,http,parquet,excel,postgres,mariadb,tables,exports,requests-during-load,one-row,backlog,wide-columns,first-increment,growth',
    },
    kinds: { type: 'string', default: 'wide,narrow,quoted' },
    /** Megabytes, separated by commas, in ascending order. */
    sizes: { type: 'string', default: '10,100,1000' },
    rounds: { type: 'string', default: '3' },
    /** Keeps all processors busy with other processes meanwhile. */
    busy: { type: 'boolean', default: false },
    /** Folder of the data files. */
    data: { type: 'string', default: join(tmpdir(), 'sluice-bench-data') },
  },
})

const measures: Record<string, (context: BenchContext) => AsyncGenerator<MeasureReport>> = {
  csv: (context) => csv(context, options.kinds.split(',') as KindName[]),
  profile: (context) => profile(context, Math.min(100, Math.max(...context.sizes))),
  ndjson: (context) => ndjson(context, Math.min(100, Math.max(...context.sizes))),
  excel,
  http: httpSystems,
  parquet: (context) => parquet(context, Math.max(...context.sizes)),
  postgres: (context) => postgresToPostgres(context, Math.max(...context.sizes)),
  // pgloader takes minutes for larger files.
  mariadb: (context) => mariadb(context, Math.min(100, Math.max(...context.sizes))),
  tables: (context) => manyTables(context),
  exports: (context) => exports(context, Math.max(...context.sizes)),
  'requests-during-load': (context) => requestsDuringLoad(context, Math.max(...context.sizes)),
  'one-row': oneRow,
  backlog,
  'wide-columns': wideColumns,
  'first-increment': firstIncrement,
  growth: (context) => growth(context, Math.min(100, Math.max(...context.sizes))),
}

async function runBench(): Promise<void> {
  await using installation = await runStep('Sluice is ready', startInstallation)
  await executeSql(installation.databaseUrl('postgres'), 'create database bench_peers')
  const context: BenchContext = {
    installation,
    peers: installation.databaseUrl('bench_peers'),
    folder: options.data,
    sizes: options.sizes.split(',').map(Number),
    rounds: Number(options.rounds),
  }
  using _busy = options.busy ? keepProcessorsBusy() : undefined
  const reports = []
  for (const name of options.only.split(','))
    for await (const report of measures[name]!(context)) {
      reports.push(formatSection(report))
      console.log(reports.at(-1))
    }
  if (!options.write) return
  await writeFile(join(root, 'bench/results/load.md'), formatHeading(context.rounds, options.busy) + reports.join('\n'))
}

await runBench().catch(reportFailure)
