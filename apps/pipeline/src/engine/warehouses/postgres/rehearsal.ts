import { createHash } from 'node:crypto'
import { escapeIdentifier, escapeLiteral, type ClientBase } from 'pg'
import type { ReadyTable, Rehearsal } from '../warehouse.ts'
import { withClient, type WarehouseAccess } from './access.ts'
import type { Pools } from './load.ts'
import { qualified } from './names.ts'
import { readsOldRows } from './old-rows.ts'
import { warehouseProblem } from './problems.ts'
import { rehearsedRows } from './rehearsed-rows.ts'
import { readShape } from './shape.ts'
import { dropWorkshop } from './workshop.ts'

/** Locks no table but for the moment of looking at its shape; nothing of it is in the way of readers. */
const brief = `set local lock_timeout = '5s'; set local statement_timeout = '1min'`

/**
 * See `Warehouse.rehearse`. Two schemas of this run: in `shown`, views on the rows that are about to be published; in `bare`,
 * empty tables of the same shape. A query that is explained with `bare` in the place of `shown` touches the live table only
 * if it would get at it past the views.
 */
export async function rehearse(
  pools: Pools,
  access: WarehouseAccess,
  tables: readonly ReadyTable[],
  { run, attempt }: { run: string; attempt: number },
): Promise<Rehearsal> {
  const hash = createHash('sha256')
    .update(JSON.stringify([run, attempt, tables]))
    .digest('hex')
    .slice(0, 16)
  const [shown, bare] = [`sluice_shown_${hash}`, `sluice_bare_${hash}`]
  const drop = async () => {
    for (const schema of [shown, bare]) await dropPersistently(pools, schema)
  }
  const place = qualified(tables[0]!.schema, tables[0]!.table)
  const live = await withClient(pools.statements, undefined, async (client) => {
    await client.query(`begin; ${brief}`)
    await client.query(
      [shown, bare].flatMap((schema) => schemaFor(schema, access.read.user, { run, attempt, ...tables[0]! })).join(';'),
    )
    const oids: number[] = []
    for (const table of tables) oids.push(...(await stand(client, { shown, bare, read: access.read.user }, table)))
    await client.query('commit')
    return oids
  }).catch(async (error: unknown) => {
    await drop().catch(() => {})
    throw warehouseProblem(error, { place })
  })
  return {
    schema: shown,
    oldRows: (query, signal) => {
      const schemas = (query.schemas ?? []).map((name) => (name === shown ? bare : name))
      return readsOldRows(access, live, { ...query, schemas }, signal)
    },
    async [Symbol.asyncDispose]() {
      await drop().catch((error: unknown) => {
        throw warehouseProblem(error, { place })
      })
    },
  }
}

/** Of a query that was stopped just now, the server may still hold a view. */
async function dropPersistently({ statements }: Pools, schema: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await dropWorkshop(statements, schema)
      return
    } catch (error) {
      if (tries === 5) throw error
    }
  }
}

/** Its comment is what the janitor goes by when a worker dies meanwhile. */
function schemaFor(schema: string, read: string, { run, attempt, schema: of, table }: Origin): string[] {
  const name = escapeIdentifier(schema)
  const origin = escapeLiteral(JSON.stringify({ run, attempt, schema: of, table }))
  return [
    `drop schema if exists ${name} cascade`,
    `create schema ${name}`,
    `comment on schema ${name} is ${origin}`,
    `grant usage on schema ${name} to ${escapeIdentifier(read)}`,
  ]
}

interface Origin extends ReadyTable {
  run: string
  attempt: number
}

/** Puts a table into both schemas. Answers the oids of what holds the rows of the last load. */
async function stand(
  client: ClientBase,
  { shown, bare, read }: { shown: string; bare: string; read: string },
  ready: ReadyTable,
): Promise<number[]> {
  const staging = (await readShape(client, 'sluice', ready.staging))!
  const live = await readShape(client, ready.schema, ready.table)
  const [view, empty] = [qualified(shown, ready.table), qualified(bare, ready.table)]
  const reader = escapeIdentifier(read)
  await client.query(
    [
      `create view ${view} as ${rehearsedRows(ready, staging, live)}`,
      `grant select on ${view} to ${reader}`,
      `create table ${empty} as table ${view} with no data`,
      `grant select on ${empty} to ${reader}`,
    ].join(';'),
  )
  const { rows } = await client.query<{ oid: number }>(
    'select relid::int8::float8 as oid from pg_partition_tree($1::oid) union select $1::oid::int8::float8 where $1 is not null',
    [live?.oid ?? null],
  )
  return rows.map(({ oid }) => oid)
}
