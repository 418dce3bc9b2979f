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
 * Throws 409 with the objects that read, run or contain an object, which its lineage shows too. `externalViews`: names of views over the
 * object that Sluice did not create.
 */
export async function assertUnused(
  trx: Transaction<DB>,
  caller: Caller,
  object: DeletedObject,
  externalViews: readonly string[] = [],
): Promise<void> {
  const readers = await findReaders(trx, caller, object)
  const users = describeReaders([
    ...readers.map(toNamedReader),
    ...externalViews.map((name) => ({ nouns: 'views from outside of Sluice', name, isShown: true })),
  ])
  if (users === undefined) return
  throw problems.conflict('/', `This ${nounOf(object)} is used by ${users}. Change or delete them first.`)
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
