import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { mariadbMissing, startMariadb } from '../../../packages/connectors/src/database-connector/test/mariadb.ts'
import { has, measureCommand } from '../contenders/command.ts'
import type { Contender } from '../contenders/contender.ts'
import { product } from '../contenders/product.ts'
import { kinds } from '../data/kinds.ts'
import { makeFile } from '../data/make-file.ts'
import { runOn } from '../database.ts'
import { inTurns } from '../rounds.ts'
import { figuresOf, type Parts, ratio, type Report } from './measure.ts'

const mysqlTypes: Record<string, string> = { boolean: 'tinyint(1)', timestamp: 'datetime(6)', text: 'text' }
const columns = kinds.wide.columns.map((column) => {
  const [name, ...type] = column.split(' ')
  return { name: name!, type: mysqlTypes[type.join(' ')] ?? type.join(' ') }
})

/** From a MariaDB, against pgloader, which was made for that. */
export async function* mariadb(parts: Parts, megabytes: number): AsyncGenerator<Report> {
  const missing = mariadbMissing() ?? (has('pgloader') ? undefined : 'Debian’s pgloader is not installed')
  if (missing) return console.log(`MariaDB is not measured: ${missing}.`)
  const file = await makeFile(parts.folder, 'wide', megabytes)
  await using server = await filledMariadb(file.path)
  const own = await product(parts.installation, {
    name: `mariadb_${megabytes}`,
    type: 'SQL_DATABASE_B',
    settings: { jdbcSource: server.jdbcSource, sqlQuery: 'select * from source' },
  })
  const figures = await inTurns([await pgloader(parts, server.port), own], parts.rounds, parts.peers)
  yield {
    title: `MariaDB to PostgreSQL, the wide ${megabytes} MB`,
    figures,
    bytes: file.size,
    targets: [
      { text: 'time / pgloader', value: ratio(figures, 'Sluice', 'pgloader'), limit: 0.33, unit: '×' },
      { text: 'peak memory of the worker', value: figuresOf(figures, 'Sluice').memory, limit: 150, unit: 'MiB' },
    ],
  }
}

/** A MariaDB of its own with the wide rows of a CSV file in its table `source`, and where pipelines find it. */
export async function filledMariadb(csv: string) {
  const server = await startMariadb()
  await server.admin.query(
    "create database bench; use bench; create user bench@'%' identified by 'bench'; grant all on bench.* to bench@'%'",
  )
  await server.admin.query(`create table source (${columns.map(({ name, type }) => `${name} ${type}`).join(', ')})`)
  await measureCommand(`mariadb --local-infile=1 -h 127.0.0.1 -P ${server.port} -u root bench -e "${infile(csv)}"`)
  const login = { database: 'bench', username: 'bench', password: 'bench', ssl: false, trustServerCertificate: false }
  return { ...server, jdbcSource: { hostname: '127.0.0.1', port: server.port, ...login } }
}

/** Empty fields of the file are null. */
function infile(path: string): string {
  const variables = columns.map(({ name }) => `@${name}`).join(', ')
  const values = columns.map(({ name, type }) =>
    type === 'tinyint(1)'
      ? `${name} = case @${name} when 'true' then 1 when 'false' then 0 end`
      : `${name} = nullif(@${name}, '')`,
  )
  return `load data local infile '${path}' into table source fields terminated by ',' optionally enclosed by '\\"' escaped by '' ignore 1 lines (${variables}) set ${values.join(', ')}`
}

async function pgloader(parts: Parts, port: number): Promise<Contender> {
  const file = join(parts.folder, 'mariadb.load')
  await writeFile(
    file,
    `LOAD DATABASE FROM mysql://bench:bench@127.0.0.1:${port}/bench INTO ${parts.peers.replace('?sslmode=disable', '')}
WITH include drop, create tables, no foreign keys, workers = 2, concurrency = 1;
`,
  )
  return {
    name: 'pgloader',
    prepare: () => runOn(parts.peers, 'drop schema if exists bench cascade'),
    load: () => measureCommand(`pgloader --quiet ${file}`),
    table: () => ({ database: parts.peers, table: 'bench.source' }),
  }
}
