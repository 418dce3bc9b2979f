import type { Caller } from '@sluice/http-server'
import { problems } from '@sluice/http-server'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../database.ts'
import { hasActiveRun } from '../runs/read-runs.ts'
import type { RunnableKind } from '../runs/runnable-kinds.ts'
import {
  type ReadObject,
  describeReaders,
  findReaders,
  findReadersBySql,
  toNamedReader,
} from './objects/find-dependent-objects.ts'
import { objectKinds } from './objects/shareable-object-kinds.ts'

type TargetObject = ReadObject & { kind: Exclude<ReadObject['kind'], 'TABLE'> }

/** Returns the noun of an object's type in messages, for example `data pipeline`. */
const nounOf = ({ kind }: TargetObject) => (kind === 'SCHEMA' ? 'schema' : objectKinds[kind].noun)

/**
 * Throws 409 with the objects that read, run or contain this object, as its lineage shows them. The checks in a
 * pipeline's own quality gate do not count, because they can be deleted only after the pipeline. `externalViews` names
 * views over the table that Sluice did not create.
 */
export async function assertUnused(
  trx: Transaction<DB>,
  caller: Caller,
  object: TargetObject,
  externalViews: readonly string[] = [],
): Promise<void> {
  const readers = await findReaders(trx, caller, object)
  const gateCheckUids = object.kind === 'DATA_PIPELINE' ? await listGateCheckUids(trx, object.id!) : []
  const blockingReaders = readers.filter(({ id }) => !gateCheckUids.includes(id)).map(toNamedReader)
  const blockingViews = externalViews.map((name) => ({
    nouns: 'views that Sluice did not create',
    name,
    isShown: true,
  }))
  const readerList = describeReaders([...blockingReaders, ...blockingViews])
  if (readerList === undefined) return
  throw problems.conflict('/', `This ${nounOf(object)} is used by ${readerList}. Change or delete these objects first.`)
}

/** Returns the uids of the checks in the quality gate of a pipeline, which is a group of checks. */
async function listGateCheckUids(trx: Transaction<DB>, pipelineId: number): Promise<string[]> {
  const { rows } = await sql<{ uid: string }>`
    select data_quality_checks.uid from data_pipelines
    join data_quality_group_checks on data_quality_group_checks.group_id = data_pipelines.quality_group_id
    join data_quality_checks on data_quality_checks.id = data_quality_group_checks.check_id
    where data_pipelines.id = ${pipelineId}`.execute(trx)
  return rows.map(({ uid }) => uid)
}

/** Throws 409 if the SQL of another object names this object's table or view. Call it before a rename. */
export async function assertNameUnused(
  trx: Transaction<DB>,
  caller: Caller,
  pointer: string,
  object: TargetObject,
): Promise<void> {
  const readers = await findReadersBySql(trx, caller, object)
  const readerList = describeReaders(readers.map(toNamedReader))
  if (readerList === undefined) return
  throw problems.conflict(
    pointer,
    `SQL of ${readerList} uses the name of this ${nounOf(object)}. Change that SQL first, or keep the name.`,
  )
}

/**
 * Throws 409 if a run of the object is queued or running, or if another object uses it. Then raises the statement
 * timeout of the transaction, so that the caller can delete the object in it.
 */
export async function prepareDeletion(
  trx: Transaction<DB>,
  caller: Caller,
  object: TargetObject & { kind: RunnableKind; id: number },
  externalViews?: readonly string[],
): Promise<void> {
  if (await hasActiveRun(trx, object.id))
    throw problems.conflict(
      '/',
      `A run of this ${nounOf(object)} is queued or running. Wait for its end, or cancel it.`,
    )
  await assertUnused(trx, caller, object, externalViews)
  // Deleting an object deletes its runs of several months, each with up to 20,000 log lines and rejected rows.
  await sql`set local statement_timeout = '120s'`.execute(trx)
}
