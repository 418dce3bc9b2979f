import { rowTooLarge } from '../caps.ts'
import { escapeIdentifier } from 'pg'
import { type Rows, WarehouseProblem } from '../warehouse.ts'
import { readClient, type WarehouseAccess } from './access.ts'
import { describeColumn } from './catalogue.ts'
import { checkSchemaName, checkTableName, qualified } from './names.ts'
import { warehouseProblem } from './problems.ts'
import { beginReading, executeOne, fetchRows, leave, toCells } from './reading.ts'
import { readShape } from './shape.ts'

const maximumRows = 10_000
const maximumBytes = 4 * 1024 * 1024

/**
 * A page of a table as role `read`, on a connection of its own that is thrown away. The order is the table's own: rows
 * as they were loaded, the same for every page, because nothing scans in parallel or joins another's scan midway.
 */
export async function readTable(
  access: WarehouseAccess,
  schema: string,
  table: string,
  page: { limit: number; offset: number },
): Promise<Rows> {
  checkSchemaName(schema)
  checkTableName(table)
  const place = qualified(schema, table)
  const client = readClient(access)
  try {
    await client.connect()
    await client.query(
      `${beginReading({ searchPath: 'pg_catalog', idle: 30 })};
       set local statement_timeout = '30s'; set local synchronize_seqscans = off`,
    )
    const shape = await readShape(client, schema, table)
    if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${place} does not exist. Load it first.`)
    const columns = shape.columns.map(describeColumn)
    const list = columns.map(({ name }) => escapeIdentifier(name)).join(', ')
    const limit = Math.min(Math.max(0, page.limit), maximumRows)
    const declare = `declare page no scroll cursor for select ${list} from ${place} limit $1 offset $2`
    await executeOne(client, declare, [String(limit), String(Math.max(0, page.offset))])
    const { rows, truncated } = await fetchRows(client, limit, maximumBytes)
    if (truncated && rows.length === 0) throw rowTooLarge(maximumBytes)
    return { columns, rows: toCells(rows, columns), truncated }
  } catch (error) {
    throw warehouseProblem(error, { place })
  } finally {
    await leave(client)
  }
}
