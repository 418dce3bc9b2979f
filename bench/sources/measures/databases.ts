import { mariadbMissing } from '../../../packages/connectors/src/database-connector/test/mariadb-server.ts'
import { createSluiceLoader } from '../../load/loaders/sluice-loader.ts'
import { tableKinds } from '../../load/data-files.ts'
import { withConnection } from '../../load/database.ts'
import { buildJdbcSource } from '../../load/measures/postgres-to-postgres.ts'
import { startFilledMariadb } from '../../load/measures/mariadb.ts'
import { readContent } from '../../load/table-content.ts'
import { compare, type SourceResult, type BenchContext, type Reference } from './measure.ts'
import { rawCommand } from '../raw-transfer.ts'

/** Copies the table of the database `$SOURCE` in binary. */
export const copyOut = `psql -qX "$SOURCE" -v ON_ERROR_STOP=1 -c "copy source to stdout (format binary)"`

/** Measures a query of PostgreSQL against COPY with discarded output. */
export async function postgres(context: BenchContext, { source, expected }: Reference): Promise<SourceResult> {
  const settings = { jdbcSource: buildJdbcSource(source), sqlQuery: 'select * from public.source' }
  const sluice = await createSluiceLoader(context.installation, {
    name: 'source_postgres',
    type: 'SQL_DATABASE_D',
    settings,
  })
  const raw = rawCommand(copyOut, await binaryCopyBytes(source), { SOURCE: source })
  return compare(context, { type: 'SQL_DATABASE_D', label: 'PostgreSQL, a query', raw, sluice, expected })
}

/** The columns that have the same text in both databases. */
const commonColumns = 'row(t.id, t.customer_id, t.qty, t.price, t.order_date, t.sku, t.country, t.note)::text'

/** Measures a query of MariaDB against its own client with discarded output. */
export async function mariadb(context: BenchContext, { source, file }: Reference): Promise<SourceResult | undefined> {
  const missing = mariadbMissing()
  if (missing) {
    console.log(`MariaDB is not measured: ${missing}.`)
    return undefined
  }
  await using server = await startFilledMariadb(file.path)
  const settings = { jdbcSource: server.jdbcSource, sqlQuery: 'select * from source' }
  const type = 'SQL_DATABASE_B'
  const sluice = await createSluiceLoader(context.installation, {
    name: 'source_mariadb',
    type,
    settings,
    values: commonColumns,
  })
  const command = `mariadb --quick -N -B -h 127.0.0.1 -P ${server.port} -u root bench -e "select * from source"`
  const expected = await readContent({ database: source, table: 'source', values: commonColumns })
  return await compare(context, {
    type,
    label: 'MariaDB, a query',
    raw: rawCommand(command, file.size),
    sluice,
    expected,
  })
}

/** Returns the size of the rows in the binary COPY format. */
export async function binaryCopyBytes(source: string): Promise<number> {
  const { columns } = tableKinds.wide
  const sizes = columns.map((column) => `coalesce(sum(octet_length(${sendExpression(column)})), 0)`)
  const sql = `select (count(*) * ${2 + 4 * columns.length} + ${sizes.join(' + ')})::text as bytes from source`
  const { rows } = await withConnection(source, (client) => client.query<{ bytes: string }>(sql))
  return Number(rows[0]!.bytes)
}

const sendFunctions: Record<string, string> = {
  bigint: 'int8send',
  integer: 'int4send',
  smallint: 'int2send',
  'numeric(8,2)': 'numeric_send',
  'double precision': 'float8send',
  boolean: 'boolsend',
  date: 'date_send',
  timestamp: 'timestamp_send',
  text: 'textsend',
}

function sendExpression(column: string): string {
  const [name = '', ...type] = column.split(' ')
  return `${sendFunctions[type.join(' ')]}(${name})`
}
