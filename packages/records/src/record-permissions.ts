import { type OperationGuard, type OperationSignature, type RecordAction, hasRole } from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { AccessLevel } from './sharing.ts'

type Guarded = Pick<OperationSignature, 'guard' | 'effect'>

/** The operations on one record. A record without the operation `run` or `share` cannot be run or shared. */
export interface RecordSignatures {
  read: Guarded
  update: Guarded
  delete: Guarded
  run?: Guarded
  share?: Guarded
}

/** A resource before the field `may` is added. */
export type WithoutMay<Resource> = Resource extends { may: unknown } ? Omit<Resource, 'may'> : Resource

interface PermittedRecords<Context> {
  table: string
  scope(caller: Caller, level: AccessLevel): RawBuilder<SqlBool>
  signatures: RecordSignatures
  /**
   * Returns whether the caller may perform a writing action. Defined if that depends on more than the action's guard
   * and the record. Default: true.
   */
  mayWrite?(context: Context, action: RecordAction): Promise<boolean>
}

/**
 * Reads what the caller may do with these records, and returns a function from a record's uid to the permitted actions.
 * An action requires three things: a role of its operation's guard, write access to the record if the operation writes
 * (otherwise read access), and for a writing action the consent of `mayWrite`. One statement reads the access levels of
 * all records.
 */
export async function findPermittedActions<Context extends { caller: Caller; db: Kysely<any> }>(
  { table, scope, signatures, mayWrite }: PermittedRecords<Context>,
  uids: readonly string[],
  context: Context,
): Promise<(uid: string) => RecordAction[]> {
  const { caller, db } = context
  if (uids.length === 0) return () => []
  const { read, update: write, run, share, delete: remove } = signatures
  const operations: [RecordAction, Guarded | undefined][] = [
    ['read', read],
    ['write', write],
    ['run', run],
    ['share', share],
    ['delete', remove],
  ]
  const actionsByRole = operations.flatMap(([action, operation]) =>
    operation && isGuardPassed(operation.guard, caller) ? [{ action, writes: operation.effect === 'write' }] : [],
  )
  const writingActions = actionsByRole.filter(({ writes }) => writes)
  const [{ rows }, ...refusedActions] = await Promise.all([
    sql<{ uid: string; writable: boolean }>`
      select r.uid, ${scope(caller, 'READ_WRITE')} as writable from ${sql.table(table)} as r
      where r.uid = any(${uids}::uuid[]) and ${scope(caller, 'READ')}`.execute(db),
    ...writingActions.map(async ({ action }) => ((await mayWrite?.(context, action)) === false ? action : undefined)),
  ])
  const allowedActions = actionsByRole.filter(({ action }) => !refusedActions.includes(action))
  const writableByUid = new Map(rows.map(({ uid, writable }) => [uid, writable]))
  return (uid) => {
    const isWritable = writableByUid.get(uid)
    // The caller may not even read the record.
    if (isWritable === undefined) return []
    return allowedActions.filter(({ writes }) => isWritable || !writes).map(({ action }) => action)
  }
}

/**
 * Returns whether the caller passes the guard. A guard without roles lets every caller pass who can read the record.
 */
const isGuardPassed = (guard: OperationGuard, { roles }: Caller): boolean =>
  typeof guard === 'string' || guard.some((role) => hasRole(roles, role))
