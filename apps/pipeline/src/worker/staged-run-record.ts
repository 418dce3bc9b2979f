import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { ReaderAdvice } from '@sluice/row-stream'
import type { DB } from '../database.ts'
import type { StagedLoad } from '@sluice/warehouses/load-row-streams'
import type { Claim } from '../runs/claim-run.ts'
import { findStagedLoads, storeStagedLoads } from '../runs/staged-load-records.ts'
import { underWay } from '../runs/run-states.ts'
import type { SourceShape } from '@sluice/warehouses/shape/previous-source-columns'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import { describeFailure, findOriginalError } from './run-failure.ts'
import type { PipelineToLoad } from './read-pipeline-to-load.ts'
import type { RunAttempt } from './run-handler.ts'

/**
 * Facts about the rows of a run that the ledger in the warehouse does not contain. Stored as JSON, so the names of the
 * fields cannot change.
 */
export interface RunCounts {
  rejected: number
  /** The number of rows from the source, before the transformation. */
  fed: number
  /** Whether the rows are merged into the table. */
  merged: boolean
  /** The hints of the source about its data, as entries of a map. */
  hints: [sentence: string, advice: ReaderAdvice][]
  /** The reason why the source was read completely although an incremental load was requested. */
  whole?: string
  /** The reason why the source had no rows that are new to the table. */
  nothingNew?: string
}

export interface StagedRun {
  load: StagedLoad
  counts: RunCounts
}

/** The stored JSON. `loads` is in a format that the warehouse defines. */
interface StoredRun {
  loads: unknown
  feeds: Omit<StagedLoad, 'tables'>
  counts: RunCounts
}

/** The state that the last load left, and a digest of everything that determines which rows the source returns. */
export interface LoadState {
  cursor: unknown
  /** The columns of the last load; undefined if there was none, or if this run rebuilds the table. */
  lastShape: SourceShape | undefined
  digest: string
}

/** Increment this number with every change of `StoredRun` or of the data that warehouses store in it. */
const formatVersion = 3

/**
 * Reads the state that the last load of the pipeline left in the warehouse. Also returns a digest of everything that
 * determines the rows of this attempt. The caller must read the pipeline, which contains the versions of all variables,
 * before the variables: if a variable changes in between, the digest of the next attempt then differs.
 */
export async function readLoadState(
  { mode, input }: Claim,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
): Promise<LoadState> {
  const { schema, table } = pipeline
  const { cursor, sourceShape } = await warehouse.loader.findLastLoad(schema, table)
  const lastShape = isRebuild(input) ? undefined : sourceShape
  // These two fields do not influence the rows. `hasPendingDrop` even changes when the first attempt drops the table.
  const { hasPendingDrop: _hasPendingDrop, retainsStaging: _retainsStaging, ...readSettings } = pipeline
  const determiningValues = [formatVersion, readSettings, mode, input, cursor, lastShape]
  return { cursor, lastShape, digest: hash('sha256', JSON.stringify(determiningValues)) }
}

export const isRebuild = (input: unknown): boolean => (input as { rebuild?: boolean }).rebuild === true

/**
 * Stores what a later attempt needs to publish the staged rows. Returns false if the warehouse cannot describe them, if
 * the lease is lost, or if the database reports an error: the attempt can continue without this record.
 */
export async function storeStagedRun(
  db: Kysely<DB>,
  { claim, signal }: Pick<RunAttempt, 'claim' | 'signal'>,
  warehouse: Warehouse,
  digest: string,
  { load, counts }: StagedRun,
): Promise<boolean> {
  const { tables, ...loadWithoutTables } = load
  const describedTables = await warehouse.loader.describeStaged(tables, signal)
  if (describedTables === undefined) return false
  const state: StoredRun = { loads: describedTables, feeds: loadWithoutTables, counts }
  return storeStagedLoads(db, claim, { digest, state }).catch(() => false)
}

/**
 * Takes over the rows that an earlier attempt staged, so that the source need not be read again. Returns undefined if
 * no rows are staged or the source would now return other rows.
 */
export async function adoptStagedRun(
  db: Kysely<DB>,
  { claim, log, signal }: Pick<RunAttempt, 'claim' | 'log' | 'signal'>,
  pipeline: PipelineToLoad,
  warehouse: Warehouse,
): Promise<StagedRun | undefined> {
  const stagedLoads = await findStagedLoads(db, claim)
  if (!stagedLoads) return undefined
  const { digest } = await readLoadState(claim, pipeline, warehouse)
  const wouldReadOtherRows = digest !== stagedLoads.digest
  if (wouldReadOtherRows) {
    log.write(
      'INFO',
      'LOW',
      'The source is read again, because the pipeline, a variable or the table has changed since the last attempt.',
    )
    return undefined
  }
  const { loads: describedTables, feeds: loadWithoutTables, counts } = stagedLoads.state as StoredRun
  const tables = await warehouse.loader.adoptStaged(pipeline.schema, describedTables, claim.attempt, signal)
  if (!tables) return undefined
  log.write(
    'INFO',
    'LOW',
    `Attempt ${stagedLoads.attempt} staged all rows. They are published without reading the source again.`,
  )
  return { load: { ...loadWithoutTables, tables }, counts }
}

/** Returns whether another attempt may publish the staged rows: the error allows a retry, and the run has not ended. */
export async function isRetryPossible(
  db: Kysely<DB>,
  { claim, signal }: Pick<RunAttempt, 'claim' | 'signal'>,
  error: unknown,
): Promise<boolean> {
  const cause: unknown = signal.aborted ? signal.reason : findOriginalError(error)
  const { expected, retryable } = describeFailure(cause, claim.uid)
  const endsRun = expected && !retryable
  if (endsRun) return false
  try {
    const run = await db
      .selectFrom('runs')
      .select('id')
      .where('id', '=', claim.id)
      .where('state', 'in', [...underWay])
      .executeTakeFirst()
    return run !== undefined
  } catch {
    // While the database is unavailable, the run cannot end either.
    return true
  }
}
