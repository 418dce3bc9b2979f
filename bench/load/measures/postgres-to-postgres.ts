import { measureCommand } from '../loaders/measure-command.ts'
import type { Loader } from '../loaders/loader.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { tableKinds, createDataFile } from '../data-files.ts'
import { executeSql } from '../database.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { findFigures, type BenchContext, ratio, type MeasureReport, correctnessTarget } from './measure.ts'

const textPipe = 'psql COPY | psql COPY'
const binaryPipe = 'the same, format binary'

/** Measures a load from one PostgreSQL database into another one of the same server. */
export async function* postgresToPostgres(context: BenchContext, megabytes: number): AsyncGenerator<MeasureReport> {
  const file = await createDataFile(context.folder, 'wide', megabytes)
  const source = await createSourceDatabase(context, file.path)
  const target = context.peers
  const pipe = (name: string, format: string): Loader => ({
    name,
    prepare: () => executeSql(target, `drop table if exists t; create table t (${tableKinds.wide.columns.join(', ')})`),
    load: () =>
      measureCommand(
        `psql -qX "$SOURCE" -v ON_ERROR_STOP=1 -c "copy source to stdout ${format}" | psql -qX "$TARGET" -v ON_ERROR_STOP=1 -c "copy t from stdin ${format}"`,
        { SOURCE: source, TARGET: target },
      ),
    table: () => ({ database: target, table: 't' }),
  })
  const jdbcSource = buildJdbcSource(source)
  const settings = { jdbcSource, sqlQuery: 'select * from public.source' }
  const sluice = await createSluiceLoader(context.installation, {
    name: `postgres_${megabytes}`,
    type: 'SQL_DATABASE_D',
    settings,
  })
  const figures = await runInterleaved(
    [pipe(textPipe, ''), pipe(binaryPipe, '(format binary)'), sluice],
    context.rounds,
    context.peers,
  )
  yield {
    title: `PostgreSQL to PostgreSQL, the wide ${megabytes} MB`,
    figures,
    bytes: file.size,
    targets: [
      correctnessTarget(figures),
      { text: `time / ${textPipe}`, value: ratio(figures, 'Sluice', textPipe), limit: 1, unit: '×' },
      { text: 'peak memory of the worker', value: findFigures(figures, 'Sluice').memory, limit: 150, unit: 'MiB' },
    ],
  }
}

/** Returns the `jdbcSource` of a pipeline for a connection string. */
export function buildJdbcSource(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    hostname,
    port: Number(port),
    database: pathname.slice(1),
    username,
    password: decodeURIComponent(password),
    ssl: false,
    trustServerCertificate: false,
  }
}

/** Creates a database with the wide rows of a CSV file in its table `source`. Returns its connection string. */
export async function createSourceDatabase(
  { installation }: Pick<BenchContext, 'installation'>,
  csv: string,
): Promise<string> {
  const admin = installation.databaseUrl('postgres')
  await executeSql(admin, 'drop database if exists bench_source')
  await executeSql(admin, 'create database bench_source')
  const source = installation.databaseUrl('bench_source')
  await executeSql(source, `create table source (${tableKinds.wide.columns.join(', ')})`)
  await measureCommand(
    `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy source from '${csv}' with (format csv, header)"`,
    {
      URL: source,
    },
  )
  await executeSql(source, 'vacuum (freeze, analyze) source')
  return source
}
