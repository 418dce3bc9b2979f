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

type DeletedObject = ReadObject & { kind: Exclude<ReadObject['kind'], 'TABLE'> }

const nounOf = ({ kind }: DeletedObject) => (kind === 'SCHEMA' ? 'schema' : objectKinds[kind].noun)

/**
 * Throws 409 with the objects that read, run or contain an object, which its lineage shows too. The checks of a pipeline's own gate do
 * not prevent its deletion, because they could only be deleted after it. `externalViews`: names of views over the object that Sluice did
 * not create.
 */
export async function assertUnused(
  trx: Transaction<DB>,
  caller: Caller,
  object: DeletedObject,
  externalViews: readonly string[] = [],
): Promise<void> {
  const readers = await findReaders(trx, caller, object)
  const ownChecks = object.kind === 'DATA_PIPELINE' ? await findChecksOfGate(trx, object.id!) : new Set()
  const users = describeReaders([
    ...readers.filter(({ id }) => !ownChecks.has(id)).map(toNamedReader),
    ...externalViews.map((name) => ({ nouns: 'views from outside of Sluice', name, isShown: true })),
  ])
  if (users === undefined) return
  throw problems.conflict('/', `This ${nounOf(object)} is used by ${users}. Change or delete them first.`)
}

async function findChecksOfGate(trx: Transaction<DB>, pipeline: number): Promise<Set<string>> {
  const { rows } = await sql<{ uid: string }>`
    select k.uid from data_pipelines p join data_quality_group_checks c on c.group_id = p.quality_group_id
    join data_quality_checks k on k.id = c.check_id where p.id = ${pipeline}`.execute(trx)
  return new Set(rows.map(({ uid }) => uid))
}

/** Throws 409 if SQL names the table or view of an object, which is about to get another name. */
export async function assertNameUnused(
  trx: Transaction<DB>,
  caller: Caller,
  pointer: string,
  object: DeletedObject,
): Promise<void> {
  const readers = await findReadersBySql(trx, caller, object)
  const users = describeReaders(readers.map(toNamedReader))
  if (users === undefined) return
  throw problems.conflict(
    pointer,
    `SQL of ${users} names this ${nounOf(object)}. Change it there first, or keep the name.`,
  )
}

/** Throws 409 if a run of the object is queued or running, or if it is used. Then raises the statement timeout for the deletion. */
export async function assertDeletable(
  trx: Transaction<DB>,
  caller: Caller,
  object: DeletedObject & { kind: RunnableKind; id: number },
  externalViews?: readonly string[],
): Promise<void> {
  if (await hasActiveRun(trx, object.id))
    throw problems.conflict(
      '/',
      `A run of this ${nounOf(object)} is queued or running. Wait for its end, or cancel it.`,
    )
  await assertUnused(trx, caller, object, externalViews)
  // The object's runs of several months are deleted with it. Each can have 20,000 log lines and rejected rows.
  await sql`set local statement_timeout = '120s'`.execute(trx)
}
