import type { ClientBase } from 'pg'
import type { PublishedTable } from '../warehouse.ts'
import { createTable, evolve, rebuiltColumns } from './evolve.ts'
import { gone, notOurs, type PostgresLoad } from './load.ts'
import { qualified } from './names.ts'
import { readShape } from './shape.ts'

export interface Swap {
  load: PostgresLoad
  /** Short statements that change what readers see. */
  statements: string[]
  /** Detached by them, to be dropped after the commit. */
  oldPartition?: string
  published: PublishedTable
}

/**
 * Makes a table ready to be swapped, inside the publishing transaction. SHARE UPDATE EXCLUSIVE makes other publishers
 * of the table wait and lets readers pass.
 */
export async function planSwap(client: ClientBase, load: PostgresLoad, read: string): Promise<Swap> {
  const { schema, table } = load.target
  const names = { table: qualified(schema, table), staging: qualified('sluice', load.stagingTable) }
  const attach = `alter table ${names.table} attach partition ${names.staging} default`
  const staging = await readShape(client, 'sluice', load.stagingTable)
  if (!staging) throw gone(load)
  const { rows, bytes } = load.written!
  const published: PublishedTable = { schema, table, rows, bytes, changes: [] }

  const before = await readShape(client, schema, table)
  if (!before) {
    for (const statement of createTable(names.table, staging.columns, read)) await client.query(statement)
    return { load, statements: [attach], published }
  }
  if (!before.ours) throw notOurs(load.scene)
  await client.query(`lock table only ${names.table} in share update exclusive mode`)
  // Read again: another load may have published between our look and our lock.
  const current = await readShape(client, schema, table)
  if (!current?.ours) throw notOurs(load.scene)

  const fed = load.target.columns.map(({ name }) => name)
  const evolution = evolve(names, current, staging, fed, await fedBefore(client, current.partition))
  for (const statement of evolution.forStaging) await client.query(statement)
  const reshape = evolution.rebuild
    ? [`drop table ${names.table}`, ...createTable(names.table, rebuiltColumns(current, staging), read)]
    : evolution.forTable
  const detach = current.partition
    ? [`alter table ${names.table} detach partition ${qualified('sluice', current.partition)}`]
    : []
  return {
    load,
    statements: [...detach, ...reshape, attach],
    ...(current.partition && { oldPartition: current.partition }),
    published: { ...published, changes: evolution.changes },
  }
}

async function fedBefore(client: ClientBase, partition: string | undefined): Promise<string[]> {
  const { rows } = await client.query('select fed_columns from sluice.ledger_table where partition_name = $1', [
    partition,
  ])
  return rows[0]?.fed_columns ?? []
}
