import { escapeIdentifier, type ClientBase } from 'pg'
import { type PublishOptions, WarehouseProblem } from '../warehouse.ts'
import { noKey } from '../ready-to-publish.ts'
import { withClient } from './access.ts'
import { completeStaging } from './evolve.ts'
import { lastEntry } from './ledger.ts'
import type { Pools, PostgresLoad } from './load.ts'
import { qualified } from './names.ts'
import { olderReaders } from './older-readers.ts'
import { warehouseProblem } from './problems.ts'
import { planPublication } from './plan-publication.ts'
import { readShape, type Shape } from './shape.ts'

/** A key compares what is NULL with nothing; a whole scan of both sides at the worst. */
const longest = `set local statement_timeout = '12h'`

/**
 * Increments are merged into the live partition where it stands. Where the table's shape or key has to change for them,
 * the table's other rows are brought over to the staging table instead, which then replaces it like any other load:
 * readers are never kept waiting for a rewrite. Here is what of that takes long before the publishing transaction.
 */
export async function prepareMerge(pools: Pools, load: PostgresLoad, signal: AbortSignal): Promise<void> {
  if (load.keys.length === 0) throw noKey(load.scene.place)
  try {
    await withClient(pools.transactions, signal, async (client) => {
      await client.query(`begin; ${longest}`)
      const live = await readShape(client, load.target.schema, load.target.table)
      const staging = await readShape(client, 'sluice', load.stagingTable)
      if (!live?.ours || live.partition === undefined || !staging || fitsInPlace(load, live, staging)) {
        await client.query('rollback')
        // Nobody is shown another table, so whoever is older goes on with the rows that they know.
        if (live?.partition !== undefined) load.older = []
        return
      }
      load.carried = await carryOver(client, load, live, staging)
      await client.query('commit')
      load.older = [await olderReaders(client)]
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.scene)
  }
}

/** Nothing but rows changes: same key, and every column that the rows bring is there as it is. */
export function fitsInPlace(load: PostgresLoad, live: Shape, staging: Shape): boolean {
  const key = live.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)
  const types = new Map(live.columns.map(({ name, type }) => [name, type]))
  return (
    key.toSorted().join('\0') === load.keys.toSorted().join('\0') &&
    mergedColumns(load, staging).every(({ name, type }) => types.get(name) === type)
  )
}

/** What the rows bring, by the source or a transformation. Other columns keep what they hold. */
function mergedColumns({ brought }: PostgresLoad, staging: Shape) {
  const names = new Set(brought ?? staging.columns.map(({ name }) => name))
  return staging.columns.filter(({ name }) => names.has(name))
}

/** Rows of the same key become what came in, where they differ at all; the rest is added. Answers how many were added. */
export async function mergeInPlace(
  client: ClientBase,
  load: PostgresLoad,
  partition: string,
  staging: Shape,
): Promise<number> {
  const [into, from] = [qualified('sluice', partition), qualified('sluice', load.stagingTable)]
  const columns = mergedColumns(load, staging).map(({ name }) => escapeIdentifier(name))
  const keys = load.keys.map((name) => escapeIdentifier(name))
  const rest = columns.filter((column) => !keys.includes(column))
  const same = keys.map((key) => `live.${key} = came.${key}`).join(' and ')
  const of = (table: string) => rest.map((column) => `${table}.${column}`).join(', ')
  await client.query(longest)
  if (rest.length > 0)
    await client.query(
      `update ${into} as live set (${rest.join(', ')}) = row(${of('came')}) from ${from} as came
       where ${same} and row(${of('live')}) is distinct from row(${of('came')})`,
    )
  const { rowCount } = await client.query(
    `insert into ${into} (${columns.join(', ')}) select ${columns.join(', ')} from ${from} as came
     where not exists (select from ${into} as live where ${same})`,
  )
  return rowCount!
}

async function carryOver(client: ClientBase, load: PostgresLoad, live: Shape, staging: Shape) {
  const partition = live.partition!
  const last = await lastEntry(client, partition)
  if (!last) throw changedMeanwhile(load)
  const [old, here] = [qualified('sluice', partition), qualified('sluice', load.stagingTable)]
  const { table } = planPublication(load, { live, staging, last, merging: true })
  for (const statement of completeStaging(here, table)) await client.query(statement)
  const { columns } = (await readShape(client, 'sluice', load.stagingTable))!
  const types = new Map(columns.map(({ name, type }) => [name, type]))
  const cast = (name: string) => `old.${escapeIdentifier(name)}::${types.get(name)}`
  const lacking = load.keys.filter((name) => !live.columns.some((column) => column.name === name))
  if (lacking.length > 0) throw newKey(load, lacking)
  const same = load.keys.map((name) => `${cast(name)} = came.${escapeIdentifier(name)}`).join(' and ')
  const brought = new Set(mergedColumns(load, staging).map(({ name }) => name))
  const kept = live.columns.filter(({ name }) => !brought.has(name)).map(({ name }) => name)
  await client.query(`analyze ${here}`)
  if (kept.length > 0)
    await client.query(
      `update ${here} as came set ${kept.map((name) => `${escapeIdentifier(name)} = ${cast(name)}`).join(', ')}
       from ${old} as old where ${same}`,
    )
  const names = live.columns.map(({ name }) => name)
  const { rowCount } = await client.query(
    `insert into ${here} (${names.map((name) => escapeIdentifier(name)).join(', ')})
     select ${names.map(cast).join(', ')} from ${old} as old where not exists (select from ${here} as came where ${same})`,
  )
  return { rows: rowCount!, from: last.run }
}

/** What is merged without a key is only ever added, twice when a run is repeated. */
export function mergeModeOf(load: PostgresLoad, { mode }: PublishOptions): 'REPLACE' | 'MERGE' {
  if (mode !== 'MERGE') return 'REPLACE'
  if (load.keys.length === 0) throw noKey(load.scene.place)
  return mode
}

export function changedMeanwhile({ scene }: PostgresLoad): WarehouseProblem {
  const sentence = `Another run changed ${scene.place} while this one was merging into it. It is tried again.`
  return new WarehouseProblem('WAREHOUSE_BUSY', sentence, { retryable: true })
}

function newKey({ scene }: PostgresLoad, columns: string[]): WarehouseProblem {
  return new WarehouseProblem(
    'NO_PRIMARY_KEY',
    `Rows cannot be merged into ${scene.place}: its rows have no value in key column ${columns.map((name) => `"${name}"`).join(', ')}, which is new. Let the pipeline replace the table once.`,
  )
}
