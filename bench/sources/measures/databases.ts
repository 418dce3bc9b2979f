import { mariadbMissing } from '../../../packages/connectors/src/database-connector/test/mariadb.ts'
import { product } from '../../load/contenders/product.ts'
import { kinds } from '../../load/data/kinds.ts'
import { onDatabase } from '../../load/database.ts'
import { sourceAt } from '../../load/measures/databases.ts'
import { filledMariadb } from '../../load/measures/mariadb.ts'
import { contentOf } from '../../load/verify.ts'
import { compare, type Line, type Parts } from '../line.ts'
import { rawCommand } from '../raw.ts'
import type { Reference } from '../reference.ts'

/** Of a database in `$SOURCE`. */
export const copyOut = `psql -qX "$SOURCE" -v ON_ERROR_STOP=1 -c "copy source to stdout (format binary)"`

/** A query of a PostgreSQL, against its own COPY to nowhere. */
export async function postgres(parts: Parts, { source, expected }: Reference): Promise<Line> {
  const settings = { jdbcSource: sourceAt(source), sqlQuery: 'select * from public.source' }
  const own = await product(parts.installation, { name: 'source_postgres', type: 'SQL_DATABASE_D', settings })
  const raw = rawCommand(copyOut, await bytesOf(source), { SOURCE: source })
  return compare(parts, { type: 'SQL_DATABASE_D', what: 'PostgreSQL, a query', raw, own, expected })
}

/** What both databases hold as the same text. */
const common = 'row(t.id, t.customer_id, t.qty, t.price, t.order_date, t.sku, t.country, t.note)::text'

/** A query of a MariaDB, against its own client to nowhere. */
export async function mariadb(parts: Parts, { source, file }: Reference): Promise<Line | undefined> {
  const missing = mariadbMissing()
  if (missing) {
    console.log(`MariaDB is not measured: ${missing}.`)
    return undefined
  }
  await using server = await filledMariadb(file.path)
  const settings = { jdbcSource: server.jdbcSource, sqlQuery: 'select * from source' }
  const type = 'SQL_DATABASE_B'
  const own = await product(parts.installation, { name: 'source_mariadb', type, settings, values: common })
  const command = `mariadb --quick -N -B -h 127.0.0.1 -P ${server.port} -u root bench -e "select * from source"`
  const expected = await contentOf({ database: source, table: 'source', values: common })
  return await compare(parts, { type, what: 'MariaDB, a query', raw: rawCommand(command, file.size), own, expected })
}

/** As COPY writes them in binary. */
export async function bytesOf(source: string): Promise<number> {
  const { columns } = kinds.wide
  const sizes = columns.map((column) => `coalesce(sum(octet_length(${sent(column)})), 0)`)
  const sql = `select (count(*) * ${2 + 4 * columns.length} + ${sizes.join(' + ')})::text as bytes from source`
  const { rows } = await onDatabase(source, (client) => client.query<{ bytes: string }>(sql))
  return Number(rows[0]!.bytes)
}

const senders: Record<string, string> = {
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

function sent(column: string): string {
  const [name = '', ...type] = column.split(' ')
  return `${senders[type.join(' ')]}(${name})`
}
