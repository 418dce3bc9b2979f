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
} from './objects/find-readers.ts'
import { objectKinds } from './objects/object-kinds.ts'

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
  const gateChecks = object.kind === 'DATA_PIPELINE' ? await findChecksOfGate(trx, object.id!) : new Set()
  const readerList = describeReaders([
    ...readers.filter(({ id }) => !gateChecks.has(id)).map(toNamedReader),
    ...externalViews.map((name) => ({ nouns: 'views that Sluice did not create', name, isShown: true })),
  ])
  if (readerList === undefined) return
  throw problems.conflict('/', `This ${nounOf(object)} is used by ${readerList}. Change or delete these objects first.`)
}

async function findChecksOfGate(trx: Transaction<DB>, pipeline: number): Promise<Set<string>> {
  const { rows } = await sql<{ uid: string }>`
    select k.uid from data_pipelines p join data_quality_group_checks c on c.group_id = p.quality_group_id
    join data_quality_checks k on k.id = c.check_id where p.id = ${pipeline}`.execute(trx)
  return new Set(rows.map(({ uid }) => uid))
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
 * Throws 409 if a run of the object is queued or running, or if another object uses it. Otherwise raises the statement
 * timeout for the deletion.
 */
export async function assertDeletable(
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
