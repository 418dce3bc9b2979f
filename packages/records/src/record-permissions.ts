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
 * Finds what the caller may do with these records. Returns a function that returns the permitted actions for the uid of
 * a record. An action requires a role that its operation's guard accepts, and read access to the record. If its
 * operation writes, it also requires write access to the record, and that `mayWrite` does not return false. One
 * statement reads the access to all records.
 */
export async function findPermittedActions<Context extends { caller: Caller; db: Kysely<any> }>(
  { table, scope, signatures, mayWrite }: PermittedRecords<Context>,
  uids: readonly string[],
  context: Context,
): Promise<(uid: string) => RecordAction[]> {
  const { caller, db } = context
  if (uids.length === 0) return () => []
  const actions = listActionsOfRoles(signatures, caller)
  const isAllowed = async ({ action, writes }: PermittedAction) =>
    !writes || mayWrite === undefined || (await mayWrite(context, action))
  // The rows are the records that the caller may read.
  const [{ rows }, allowed] = await Promise.all([
    sql<{ uid: string; writable: boolean }>`
      select r.uid, ${scope(caller, 'READ_WRITE')} as writable from ${sql.table(table)} as r
      where r.uid = any(${uids}::uuid[]) and ${scope(caller, 'READ')}`.execute(db),
    Promise.all(actions.map(isAllowed)),
  ])
  const allowedActions = actions.filter((_action, index) => allowed[index])
  const readableRecords = new Map(rows.map(({ uid, writable }) => [uid, { isWritable: writable }]))
  return (uid) => {
    const record = readableRecords.get(uid)
    if (record === undefined) return []
    return allowedActions.filter(({ writes }) => !writes || record.isWritable).map(({ action }) => action)
  }
}

interface PermittedAction {
  action: RecordAction
  /** Whether the action requires write access to the record. */
  writes: boolean
}

/** Returns the actions that the caller's roles permit. */
function listActionsOfRoles(signatures: RecordSignatures, caller: Caller): PermittedAction[] {
  const { read, update: write, run, share, delete: remove } = signatures
  const operations: [RecordAction, Guarded | undefined][] = [
    ['read', read],
    ['write', write],
    ['run', run],
    ['share', share],
    ['delete', remove],
  ]
  return operations.flatMap(([action, operation]) =>
    operation && isGuardPassed(operation.guard, caller) ? [{ action, writes: operation.effect === 'write' }] : [],
  )
}

/**
 * Returns whether the caller passes the guard. A guard without roles lets every caller pass who can read the record.
 */
const isGuardPassed = (guard: OperationGuard, { roles }: Caller): boolean =>
  typeof guard === 'string' || guard.some((role) => hasRole(roles, role))
