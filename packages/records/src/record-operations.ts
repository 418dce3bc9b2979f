import type { Transaction } from 'kysely'
import { toSearchRequest, type defineRecordSignatures, type defineSharingSignature } from '@sluice/contracts'
import { JsonResponse, etagOf, type Caller, type createOperationDefiner, type RequestFacts } from '@sluice/http-server'
import { type DatabaseContext, redactSecrets } from './audited-writes.ts'
import type { Records } from './record-repository.ts'
import { accessColumns } from './sharing.ts'

type WriteContext = DatabaseContext<any>
type CallerAndRequest = { caller: Caller; request: RequestFacts }

/**
 * Converts request bodies to rows. `current` is the locked row that is replaced, or undefined for a new row. `Linked`
 * is data that `beforeDelete` reads for `afterDelete`, such as the files of the deleted row.
 */
export interface RecordWriter<C extends WriteContext, Row, Body, Sent = Body, Linked = void> {
  /**
   * Completes the sent body before it is checked. Default: the sent body is used unchanged. `current` reads the row
   * that is replaced, and is absent for a new row. Throws a problem.
   */
  complete?(sent: Sent, current?: () => Promise<Row>): Promise<Body>
  /** Performs the checks that need other services, before the transaction. Throws a problem. */
  check(body: Body, input: C & CallerAndRequest): Promise<void>
  columns(trx: Transaction<any>, body: Body, current: Row | undefined, input: C & CallerAndRequest): Promise<object>
  /**
   * Writes the data of the saved record that other tables store, such as the steps of a workflow. Returns the fields
   * with which the audit log shows this data.
   */
  writeRelatedRows?(
    trx: Transaction<any>,
    row: Row,
    body: Body,
    current: Row | undefined,
    input: C & CallerAndRequest,
  ): Promise<object>
  /** Throws a problem if the locked row is in use. Returns the data that `afterDelete` needs. */
  beforeDelete(trx: Transaction<any>, row: Row, input: C & CallerAndRequest): Promise<Linked>
  /**
   * Removes the row's data outside the database, such as files, after the deletion is committed. `linked` is the
   * result of `beforeDelete`. Must not throw.
   */
  afterDelete(row: Row, input: C & CallerAndRequest, linked: Linked): Promise<void>
}

interface RecordOperationsOptions<C extends WriteContext, Row extends { uid: string; version: number }, Resource> {
  operation: ReturnType<typeof createOperationDefiner<C>>
  records: Records<Row, Resource, C & CallerAndRequest>
}

/** Returns the list, search, create, read, update and delete operations for a kind of record. */
export function recordOperations<
  C extends WriteContext,
  Row extends { uid: string; version: number },
  Resource,
  Body,
  Sent = Body,
  Linked = void,
>(
  signatures: ReturnType<typeof defineRecordSignatures<string, Resource, Sent>>,
  {
    operation,
    records,
    writing,
  }: RecordOperationsOptions<C, Row, Resource> & { writing: RecordWriter<C, Row, Body, Sent, Linked> },
) {
  type TypedInput<Query, Given> = C & CallerAndRequest & { params: { uid: string }; query: Query; body: Given }
  const complete = async (sent: Sent, current?: () => Promise<Row>): Promise<Body> =>
    writing.complete ? writing.complete(sent, current) : (sent as unknown as Body)
  return {
    list: operation(signatures.list, (input) =>
      records.search(input.db, input, toSearchRequest(input.query), input.request.url),
    ),
    search: operation(signatures.search, (input) => records.search(input.db, input, input.body)),

    create: operation(signatures.create, async (input) => {
      const body = await complete((input as TypedInput<undefined, Sent>).body)
      await writing.check(body, input)
      const row = await input.write(async (trx) => {
        const saved = await saveRow(trx, { records, writing }, body, undefined, input)
        auditSaved(saved, input.request)
        return saved.after
      })
      return records.created(row, input)
    }),

    read: operation(signatures.read, async (input) => {
      const { params } = input as TypedInput<undefined, undefined>
      return records.answer(await records.read(input.db, input.caller, params.uid), input)
    }),

    update: operation(signatures.update, async (input) => {
      const { params, body: sent } = input as TypedInput<undefined, Sent>
      const body = await complete(sent, () => records.readToWrite(input.db, input.caller, params.uid, undefined))
      await writing.check(body, input)
      const row = await input.write(async (trx) => {
        const before = await records.lock(trx, input.caller, params.uid, input.request.ifMatch)
        const saved = await saveRow(trx, { records, writing }, body, before, input)
        auditSaved(saved, input.request)
        return saved.after
      })
      return records.answer(row, input)
    }),

    delete: operation(signatures.delete, async (input) => {
      const { params } = input as TypedInput<undefined, undefined>
      const { row, linked } = await input.write(async (trx) => {
        const locked = await records.lock(trx, input.caller, params.uid, input.request.ifMatch)
        const linked = await writing.beforeDelete(trx, locked, input)
        await records.remove(trx, locked)
        input.request.audit(locked.uid, { before: redactSecrets(locked) })
        return { row: locked, linked }
      })
      await writing.afterDelete(row, input, linked)
      return undefined
    }),
  }
}

/** A saved row. `before` is the replaced row, or undefined for a new one. */
export interface SavedRow<Row> {
  before?: Row | undefined
  after: Row
  /** The result of `writeRelatedRows`. */
  relatedFields: object
}

/**
 * Updates the locked row `before`, or inserts a row if `before` is undefined. Also writes the rows of the record in
 * other tables.
 */
export async function saveRow<C extends WriteContext, Row extends { uid: string; version: number }, Resource, Body>(
  trx: Transaction<any>,
  {
    records,
    writing,
  }: Pick<RecordOperationsOptions<C, Row, Resource>, 'records'> & {
    writing: Pick<RecordWriter<C, Row, Body>, 'columns' | 'writeRelatedRows'>
  },
  body: Body,
  before: Row | undefined,
  input: C & CallerAndRequest,
): Promise<SavedRow<Row>> {
  const columns = await writing.columns(trx, body, before, input)
  const after = before
    ? await records.update(trx, input.caller, before, columns)
    : await records.insert(trx, input.caller, columns)
  const relatedFields = (await writing.writeRelatedRows?.(trx, after, body, before, input)) ?? {}
  return { before, after, relatedFields }
}

/** Adds a saved row to the audit log. */
export function auditSaved(
  { before, after, relatedFields }: SavedRow<{ uid: string }>,
  request: Pick<RequestFacts, 'audit'>,
): void {
  const auditedAfter = redactSecrets({ ...after, ...relatedFields })
  request.audit(after.uid, { ...(before && { before: redactSecrets(before) }), after: auditedAfter })
}

/**
 * Returns the operation `share`, which changes which users may see or edit a record. `checkTargets` throws a problem if
 * the body names users or groups that do not exist.
 */
export function createSharingOperations<
  C extends WriteContext,
  Row extends { uid: string; version: number },
  Resource,
  Body,
>(
  signatures: ReturnType<typeof defineSharingSignature<string, Resource, Body>>,
  { operation, records }: RecordOperationsOptions<C, Row, Resource>,
  checkTargets: (
    access: Parameters<typeof accessColumns>[0],
    input: C & CallerAndRequest,
    pointer: string,
  ) => Promise<void>,
) {
  return {
    share: operation(signatures.share, async (input) => {
      const { uid } = input.params as { uid: string }
      await checkTargets(input.body, input, '')
      const row = await input.write(async (trx) => {
        const before = await records.lock(trx, input.caller, uid, input.request.ifMatch)
        const after = await records.update(trx, input.caller, before, accessColumns(input.body))
        input.request.audit(uid, { before: redactSecrets(before), after: redactSecrets(after) })
        return after
      })
      const { body } = await records.answer(row, input)
      return new JsonResponse([body], { ETag: etagOf(row.version) })
    }),
  }
}
