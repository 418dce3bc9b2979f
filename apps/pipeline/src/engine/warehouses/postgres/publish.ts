import { setTimeout as sleep } from 'node:timers/promises'
import { escapeIdentifier, type ClientBase, type PoolClient } from 'pg'
import { failpoint } from '../../failpoints.ts'
import { LostRun } from '../../lost-run.ts'
import { type Publication, WarehouseProblem } from '../warehouse.ts'
import { withClient } from './access.ts'
import { findPublication } from './catalogue.ts'
import { gone, type Pools, type PostgresLoad } from './load.ts'
import { qualified } from './names.ts'
import { outlast } from './older-readers.ts'
import { warehouseProblem } from './problems.ts'
import { dropDetached } from './staging.ts'
import { planSwap, type Swap } from './swap.ts'

/** Milliseconds to wait for readers, per try. While we wait, new readers queue behind us: so briefly first. */
const patience = [100, 250, 500, 1000, 2000, 2000]

/** Someone holds a lock, or another load made or dropped the same table just now. */
const worthAnotherTry = new Set(['55P03', '40P01', '40001', '42P07', '23505', '42710', '42P01'])

/** See `Warehouse.publish`. Once the swap has begun, an abort waits for its end, a few milliseconds or a lock time-out. */
export async function publish(
  pools: Pools,
  loads: readonly PostgresLoad[],
  read: string,
  stillOurs: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<Publication> {
  const [first] = loads
  if (!first) throw new Error('Nothing to publish.')
  const ordered = loads.toSorted((one, other) => (one.scene.place < other.scene.place ? -1 : 1))
  for (const load of ordered) await prepare(pools, load, signal)
  const older = ordered.flatMap((load) => load.older)
  await outlast(pools.statements, older, signal).catch((error: unknown) => {
    signal.throwIfAborted()
    throw warehouseProblem(error, first.scene)
  })
  await failpoint('before-swap')
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted()
    try {
      return await swapAll(pools, ordered, read, stillOurs, patience[tries]!)
    } catch (error) {
      const again = worthAnotherTry.has((error as { code?: string }).code ?? '') && tries + 1 < patience.length
      if (!again) throw viewsDepend(error, first) ?? warehouseProblem(error, first.scene)
    }
    await sleep(patience[tries]! * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
  }
}

/** What takes long happens before anyone is kept waiting: the key's index, and the numbers the planner needs. */
async function prepare({ copies }: Pools, load: PostgresLoad, signal: AbortSignal): Promise<void> {
  if (!load.written) throw new Error('A load is published after it is written.')
  const staging = qualified('sluice', load.stagingTable)
  const keys = load.target.columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => escapeIdentifier(name))
  try {
    await withClient(copies, signal, async (client) => {
      if (keys.length > 0) await client.query(`alter table ${staging} add primary key (${keys.join(', ')})`)
      await client.query(`analyze ${staging}`)
    })
  } catch (error) {
    if (signal.aborted) throw error
    if ((error as { code?: string }).code === '42P01') throw gone(load)
    throw warehouseProblem(error, load.scene)
  }
}

async function swapAll(
  pools: Pools,
  loads: readonly PostgresLoad[],
  read: string,
  stillOurs: () => Promise<boolean>,
  wait: number,
): Promise<Publication> {
  const { run, attempt } = loads[0]!.target
  const { publication, swaps } = await withClient(pools.copies, undefined, async (client) => {
    await client.query(`begin; set local lock_timeout = ${wait}; set local statement_timeout = '30s'`)
    const { rows } = await client.query(
      'insert into sluice.ledger (run, attempt) values ($1, $2) on conflict (run) do nothing returning published_at',
      [run, attempt],
    )
    if (!rows[0]) return { publication: await alreadyThere(client, run), swaps: [] }
    const swaps: Swap[] = []
    for (const load of loads) swaps.push(await planSwap(client, load, read))
    for (const swap of swaps) await enterLedger(client, run, swap)
    if (!(await stillOurs())) throw new LostRun(`Run ${run} is no longer in the hands of attempt ${attempt}.`)
    await failpoint('in-publication')
    // One message, so the exclusive locks are held for no round trip: from the first DETACH to COMMIT.
    await client.query([...swaps.flatMap(({ statements }) => statements), 'commit'].join(';'))
    return { publication: { run, attempt, publishedAt: rows[0].published_at as Date, ...totals(swaps) }, swaps }
  })
  if (swaps.length > 0) for (const load of loads) load.published = true
  await failpoint('published')
  for (const swap of swaps) await tidy(pools, swap)
  return publication
}

async function alreadyThere(client: PoolClient, run: string): Promise<Publication> {
  await client.query('rollback')
  const found = await findPublication(client, run)
  if (!found)
    throw new WarehouseProblem('WAREHOUSE_BUSY', 'Another attempt of this run was publishing just now.', {
      retryable: true,
    })
  return found
}

async function enterLedger(client: ClientBase, run: string, { load, published }: Swap): Promise<void> {
  const fed = load.target.columns.map(({ name }) => name)
  await client.query(
    `insert into sluice.ledger_table (run, schema_name, table_name, partition_name, rows, bytes, fed_columns, changes)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      run,
      published.schema,
      published.table,
      load.stagingTable,
      published.rows,
      published.bytes,
      fed,
      JSON.stringify(published.changes),
    ],
  )
}

function totals(swaps: readonly Swap[]) {
  const tables = swaps.map(({ published }) => published)
  return {
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    tables,
  }
}

/** After the commit nothing may fail any more: an old partition that stays is swept, missing statistics come next time. */
async function tidy({ statements }: Pools, { oldPartition, load }: Swap): Promise<void> {
  if (oldPartition) await dropDetached(statements, oldPartition).catch(() => {})
  const table = qualified(load.target.schema, load.target.table)
  await withClient(statements, undefined, (client) => client.query(`analyze (skip_locked) only ${table}`)).catch(
    () => {},
  )
}

function viewsDepend(error: unknown, { scene }: PostgresLoad): WarehouseProblem | undefined {
  const { code, detail } = error as { code?: string; detail?: string }
  if (code !== '0A000' && code !== '2BP01') return undefined
  const sentence = `A column of ${scene.place} needs a wider type, but views depend on it (${detail ?? 'unnamed'}). Drop those views, run again and make them anew. The old data stays.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause: error })
}
