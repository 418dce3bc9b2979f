import { measureCommand } from '../contenders/command.ts'
import type { Contender } from '../contenders/contender.ts'
import { product } from '../contenders/product.ts'
import { kinds } from '../data/kinds.ts'
import { makeFile } from '../data/make-file.ts'
import { runOn } from '../database.ts'
import { inTurns } from '../rounds.ts'
import { figuresOf, type Parts, ratio, type Report, right } from './measure.ts'

const asTyped = 'psql COPY | psql COPY'
const binary = 'the same, format binary'

/** From one PostgreSQL to another: here from a database of the same server. */
export async function* postgresToPostgres(parts: Parts, megabytes: number): AsyncGenerator<Report> {
  const file = await makeFile(parts.folder, 'wide', megabytes)
  const source = await filled(parts, file.path)
  const target = parts.peers
  const pipe = (name: string, format: string): Contender => ({
    name,
    prepare: () => runOn(target, `drop table if exists t; create table t (${kinds.wide.columns.join(', ')})`),
    load: () =>
      measureCommand(
        `psql -qX "$SOURCE" -v ON_ERROR_STOP=1 -c "copy source to stdout ${format}" | psql -qX "$TARGET" -v ON_ERROR_STOP=1 -c "copy t from stdin ${format}"`,
        { SOURCE: source, TARGET: target },
      ),
    table: () => ({ database: target, table: 't' }),
  })
  const jdbcSource = sourceAt(source)
  const settings = { jdbcSource, sqlQuery: 'select * from public.source' }
  const own = await product(parts.installation, { name: `postgres_${megabytes}`, type: 'SQL_DATABASE_D', settings })
  const figures = await inTurns([pipe(asTyped, ''), pipe(binary, '(format binary)'), own], parts.rounds, parts.peers)
  yield {
    title: `PostgreSQL to PostgreSQL, the wide ${megabytes} MB`,
    figures,
    bytes: file.size,
    targets: [
      right(figures),
      { text: `time / ${asTyped}`, value: ratio(figures, 'Sluice', asTyped), limit: 1, unit: '×' },
      { text: 'peak memory of the worker', value: figuresOf(figures, 'Sluice').memory, limit: 150, unit: 'MiB' },
    ],
  }
}

/** A connection string as pipelines have it. */
export function sourceAt(url: string) {
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

/** The wide rows of a CSV file in the table `source` of a database of its own. */
export async function filled({ installation }: Pick<Parts, 'installation'>, csv: string): Promise<string> {
  const admin = installation.databaseUrl('postgres')
  await runOn(admin, 'drop database if exists bench_source')
  await runOn(admin, 'create database bench_source')
  const source = installation.databaseUrl('bench_source')
  await runOn(source, `create table source (${kinds.wide.columns.join(', ')})`)
  await measureCommand(
    `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy source from '${csv}' with (format csv, header)"`,
    {
      URL: source,
    },
  )
  await runOn(source, 'vacuum (freeze, analyze) source')
  return source
}
