import { escapeIdentifier, type Pool } from 'pg'
import { LostRun } from '../../lost-run.ts'
import { type Load, type LoadTarget, WarehouseProblem } from '../warehouse.ts'
import { withClient } from './access.ts'
import { copyInto } from './copy.ts'
import { stagingColumns } from './evolve.ts'
import { checkColumnName, checkSchemaName, checkTableName, qualified } from './names.ts'
import { type Scene, warehouseProblem } from './problems.ts'
import { readShape } from './shape.ts'
import { createStaging, dropDetached, stagingName } from './staging.ts'

/** `copies` has one for each load, all the way to its publication, so that none waits; `statements` are for moments. */
export interface Pools {
  copies: Pool
  statements: Pool
}

export class PostgresLoad implements Load {
  readonly target: LoadTarget
  readonly stagingTable: string
  readonly scene: Scene
  /** What `write` counted, once it is through. */
  written: { rows: number; bytes: number } | undefined
  published = false
  readonly #pools: Pools
  #begun = false

  constructor(pools: Pools, target: LoadTarget) {
    this.#pools = pools
    this.target = target
    this.stagingTable = stagingName(target)
    this.scene = sceneOf(target)
  }

  async write(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<{ rows: number; bytes: number }> {
    if (this.#begun) throw new Error('A load is written once.')
    this.#begun = true
    const columns = this.target.columns.map(({ name }) => escapeIdentifier(name)).join(', ')
    this.written = await copyInto(this.#pools.copies, this.stagingTable, columns, chunks, this.scene, signal)
    return this.written
  }

  /** Never throws: what cannot be dropped now (the warehouse is down) the janitor sweeps. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.published) await dropDetached(this.#pools.statements, this.stagingTable).catch(() => {})
  }
}

/** Makes the staging table. Throws `LostRun` when this very attempt has one already. */
export async function beginLoad(pools: Pools, target: LoadTarget, signal: AbortSignal): Promise<PostgresLoad> {
  checkSchemaName(target.schema)
  checkTableName(target.table)
  checkColumns(target)
  const load = new PostgresLoad(pools, target)
  const { run, attempt, schema, table } = target
  try {
    await withClient(pools.copies, signal, async (client) => {
      const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [schema])
      if (!rowCount) throw new WarehouseProblem('SCHEMA_MISSING', `Schema "${schema}" does not exist. Create it first.`)
      const existing = await readShape(client, schema, table)
      if (existing && !existing.ours) throw notOurs(load.scene)
      await client.query('begin')
      await createStaging(
        client,
        load.stagingTable,
        { run, attempt, schema, table },
        stagingColumns(target.columns, existing),
      )
      await client.query('commit')
    })
  } catch (error) {
    if ((error as { code?: string }).code === '42P07')
      throw new LostRun(`Attempt ${attempt} of run ${run} is being loaded by someone else.`)
    if (signal.aborted) throw error
    throw warehouseProblem(error, load.scene)
  }
  return load
}

export function gone(load: PostgresLoad): LostRun {
  return new LostRun(`The staging table of attempt ${load.target.attempt} of run ${load.target.run} is gone.`)
}

export function notOurs({ place }: Scene): WarehouseProblem {
  return new WarehouseProblem(
    'TABLE_NOT_OURS',
    `${place} exists already and was not made by a load. Choose another table name, or move that table away.`,
  )
}

function sceneOf({ schema, table, columns }: LoadTarget): Scene {
  return { place: qualified(schema, table), labels: new Map(columns.map(({ name, label }) => [name, label])) }
}

function checkColumns({ schema, table, columns }: LoadTarget): void {
  if (columns.length === 0)
    throw new WarehouseProblem(
      'NO_COLUMNS',
      `${qualified(schema, table)} would have no columns. Check that the source has a header.`,
    )
  const seen = new Set<string>()
  for (const { name } of columns) {
    checkColumnName(name)
    if (seen.has(name))
      throw new WarehouseProblem(
        'INVALID_NAME',
        `The column name ${JSON.stringify(name)} comes twice. Choose another name.`,
      )
    seen.add(name)
  }
}
