import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  mariadbMissing,
  startMariadb,
} from '../../../packages/connectors/src/database-connector/test/mariadb-server.ts'
import { isInstalled, measureCommand } from '../loaders/measure-command.ts'
import type { Loader } from '../loaders/loader.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { tableKinds, createDataFile } from '../data-files.ts'
import { executeSql } from '../database.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { findFigures, type BenchContext, ratio, type MeasureReport } from './measure.ts'

const mysqlTypes: Record<string, string> = { boolean: 'tinyint(1)', timestamp: 'datetime(6)', text: 'text' }
const columns = tableKinds.wide.columns.map((column) => {
  const [name, ...type] = column.split(' ')
  return { name: name!, type: mysqlTypes[type.join(' ')] ?? type.join(' ') }
})

/** Measures a load from MariaDB against pgloader. */
export async function* mariadb(context: BenchContext, megabytes: number): AsyncGenerator<MeasureReport> {
  const missing = mariadbMissing() ?? (isInstalled('pgloader') ? undefined : 'Debian’s pgloader is not installed')
  if (missing) return console.log(`MariaDB is not measured: ${missing}.`)
  const file = await createDataFile(context.folder, 'wide', megabytes)
  await using server = await startFilledMariadb(file.path)
  const sluice = await createSluiceLoader(context.installation, {
    name: `mariadb_${megabytes}`,
    type: 'SQL_DATABASE_B',
    settings: { jdbcSource: server.jdbcSource, sqlQuery: 'select * from source' },
  })
  const figures = await runInterleaved([await pgloader(context, server.port), sluice], context.rounds, context.peers)
  yield {
    title: `MariaDB to PostgreSQL, the wide ${megabytes} MB`,
    figures,
    bytes: file.size,
    targets: [
      { text: 'time / pgloader', value: ratio(figures, 'Sluice', 'pgloader'), limit: 0.33, unit: '×' },
      { text: 'peak memory of the worker', value: findFigures(figures, 'Sluice').memory, limit: 150, unit: 'MiB' },
    ],
  }
}

/** Starts a MariaDB with the wide rows of a CSV file in its table `source`. */
export async function startFilledMariadb(csv: string) {
  const server = await startMariadb()
  await server.admin.query(
    "create database bench; use bench; create user bench@'%' identified by 'bench'; grant all on bench.* to bench@'%'",
  )
  await server.admin.query(`create table source (${columns.map(({ name, type }) => `${name} ${type}`).join(', ')})`)
  await measureCommand(
    `mariadb --local-infile=1 -h 127.0.0.1 -P ${server.port} -u root bench -e "${loadDataStatement(csv)}"`,
  )
  const login = { database: 'bench', username: 'bench', password: 'bench', ssl: false, trustServerCertificate: false }
  return { ...server, jdbcSource: { hostname: '127.0.0.1', port: server.port, ...login } }
}

/** Returns the LOAD DATA statement for a file. Empty fields become null. */
function loadDataStatement(path: string): string {
  const variables = columns.map(({ name }) => `@${name}`).join(', ')
  const values = columns.map(({ name, type }) =>
    type === 'tinyint(1)'
      ? `${name} = case @${name} when 'true' then 1 when 'false' then 0 end`
      : `${name} = nullif(@${name}, '')`,
  )
  return `load data local infile '${path}' into table source fields terminated by ',' optionally enclosed by '\\"' escaped by '' ignore 1 lines (${variables}) set ${values.join(', ')}`
}

async function pgloader(context: BenchContext, port: number): Promise<Loader> {
  const file = join(context.folder, 'mariadb.load')
  await writeFile(
    file,
    `LOAD DATABASE FROM mysql://bench:bench@127.0.0.1:${port}/bench INTO ${context.peers.replace('?sslmode=disable', '')}
WITH include drop, create tables, no foreign keys, workers = 2, concurrency = 1;
`,
  )
  return {
    name: 'pgloader',
    prepare: () => executeSql(context.peers, 'drop schema if exists bench cascade'),
    load: () => measureCommand(`pgloader --quiet ${file}`),
    table: () => ({ database: context.peers, table: 'bench.source' }),
  }
}
