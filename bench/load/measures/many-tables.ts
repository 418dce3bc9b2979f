import {
  mariadbMissing,
  startMariadb,
} from '../../../packages/connectors/src/database-connector/test/mariadb-server.ts'
import { median } from '../../statistics.ts'
import { findServerPid } from '../server-process.ts'
import type { Loader } from '../loaders/loader.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { readProcessorTime } from '../processor-time.ts'
import type { BenchContext, MeasureReport } from './measure.ts'

const tables = 100
const rowsOfTable = 50
const columns = [
  'code varchar(20)',
  'name varchar(40)',
  'amount decimal(12,2)',
  'good tinyint',
  'day date',
  'at datetime',
]

/**
 * Measures the processor time of a run that loads many small tables of a MariaDB: of the worker, and of PostgreSQL with
 * the warehouse and the database of the service.
 */
export async function* manyTables({ installation, rounds, peers }: BenchContext): AsyncGenerator<MeasureReport> {
  const missing = mariadbMissing()
  if (missing) return console.log(`Many tables are not measured: ${missing}.`)
  await using server = await startMariadb()
  const loader = await createSluiceLoader(installation, {
    name: 'many_tables',
    type: 'SQL_DATABASE_B',
    settings: await createManyTables(server),
    table: `__${nameOf(0)}`,
  })
  const postgres = await findServerPid(peers)
  const used = { worker: [] as number[], postgres: [] as number[] }
  // The first run creates the tables, and is not measured.
  await loader.load()
  const measured: Loader = {
    ...loader,
    async load() {
      const before = [await readProcessorTime(installation.workerPid), await readProcessorTime(postgres)] as const
      const cost = await loader.load()
      used.worker.push((await readProcessorTime(installation.workerPid)) - before[0])
      used.postgres.push((await readProcessorTime(postgres)) - before[1])
      return cost
    },
  }
  const figures = await runInterleaved([measured], rounds, peers)
  yield {
    title: `${tables} tables of ${rowsOfTable} rows in one run`,
    figures,
    targets: [
      { text: 'PostgreSQL for each table', value: median(used.postgres) / tables, limit: 15, unit: 'ms' },
      { text: 'the worker for each table', value: median(used.worker) / tables, limit: 15, unit: 'ms' },
    ],
  }
}

const nameOf = (index: number): string => `table_${index}`

/** Creates the tables in a MariaDB. Returns the settings of a pipeline that loads them. */
export async function createManyTables({ admin, port }: Awaited<ReturnType<typeof startMariadb>>): Promise<object> {
  await admin.query(
    "create database many; use many; create user many@'%' identified by 'many'; grant all on many.* to many@'%'",
  )
  for (let index = 0; index < tables; index += 1)
    await admin.query(`
      create table ${nameOf(index)} (id int primary key, ${columns.join(', ')});
      insert into ${nameOf(index)} select seq, concat('code ', seq), concat('name ', seq * ${index + 1}), seq / 7, seq % 2,
        date_add('2026-01-01', interval seq day), now() from seq_1_to_${rowsOfTable}`)
  const login = { database: 'many', username: 'many', password: 'many', ssl: false, trustServerCertificate: false }
  return {
    jdbcSource: { hostname: '127.0.0.1', port, ...login },
    tables: Array.from({ length: tables }, (_, index) => ({ name: nameOf(index) })),
  }
}
