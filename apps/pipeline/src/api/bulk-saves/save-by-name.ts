import type { OperationSignature } from '@sluice/contracts'
import { type Operation, type OperationInput, Problem, problems } from '@sluice/http-server'
import { auditSaved, type RecordWriter, type Records, type SavedRow, saveRow } from '@sluice/records'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { definePipelineOperation, type PipelineContext, type RequestContext } from '../operation-context.ts'
import { createViolationList, firstViolation, toViolations, type ViolationList } from './violation-list.ts'

interface NamedRow {
  id: number
  uid: string
  version: number
  name: string
}

type NamedWriter<Row, Body> = Pick<RecordWriter<PipelineContext, Row, Body>, 'check' | 'columns' | 'writeRelatedRows'>

/**
 * The functions that save objects of one type by name, such as data pipelines. Their names are unique in an
 * organisation.
 */
export interface BulkSaveDefinition<Row extends NamedRow, Body, Sent = Body> {
  records: Records<Row, any, RequestContext>
  writing: NamedWriter<Row, Body>
  /** Returns `writing` with cached lookups, for saving many objects in one transaction. */
  cached?(trx: Transaction<DB>, input: RequestContext): NamedWriter<Row, Body>
  /**
   * Completes request bodies, for example with fields of stored objects. Runs the check of each object in `collect`,
   * which records its violations.
   */
  complete?(sentObjects: readonly Sent[], input: RequestContext, collect: CollectViolations): Promise<Body[]>
  /** Returns additional fields of a saved object for the response. */
  present?(saved: SavedRow<Row>): object
}

/** Runs `callback` for the object at `index` and records the violations that it throws. */
type CollectViolations = (index: number, callback: () => Promise<void>) => Promise<unknown>

/**
 * Returns the operation that saves several objects in one transaction: all or none. Checks each object like a request
 * for a single one, and reports the violations of all objects where possible.
 */
export function saveManyOperation<Row extends NamedRow, Body, Sent extends { name: string }>(
  signature: OperationSignature<any, undefined>,
  definition: BulkSaveDefinition<Row, Body & { name: string }, Sent>,
): Operation<PipelineContext> {
  // The id of the operation starts with the name of the list in the body, for example `dataPipelines.saveMany`.
  const listField = signature.id.split('.')[0]!
  return definePipelineOperation(signature, async (operationInput) => {
    const input = operationInput as OperationInput<PipelineContext, string, undefined, Record<string, Sent[]>>
    const sentObjects = input.body[listField]!
    const pointerOf = (index: number) => `/${listField}/${index}`
    const violations = createViolationList()
    const collect: CollectViolations = (index, callback) => violations.collect(pointerOf(index), callback)
    const bodies = definition.complete
      ? await definition.complete(sentObjects, input, collect)
      : (sentObjects as unknown as (Body & { name: string })[])
    violations.throwIfAny()
    for (const [index, repeated] of findRepeatedNames(bodies))
      violations.add(`${pointerOf(index)}/name`, `"${repeated}" is in the list twice. Choose another name.`)
    for (const [index, body] of bodies.entries()) {
      await violations.collect(pointerOf(index), async () => definition.writing.check(body, input))
      if (violations.isFull) break
    }
    violations.throwIfAny()
    return input.write(async (trx) => {
      const saved = await saveByName(trx, definition, bodies, input, { pointerOf, violations })
      for (const savedRow of saved) auditSaved(savedRow, input.request)
      return {
        [listField]: saved.map((savedRow) => ({
          id: savedRow.after.uid,
          name: savedRow.after.name,
          result: savedRow.before ? 'UPDATED' : 'CREATED',
          ...definition.present?.(savedRow),
        })),
      }
    })
  })
}

/**
 * Saves a list of objects by name in one transaction. Returns the rows in the order of the list. Throws the first
 * problem, with the object's index in its pointers.
 */
export async function saveList<Row extends NamedRow, Body extends { name: string }>(
  definition: BulkSaveDefinition<Row, Body>,
  { body: bodies, ...input }: OperationInput<PipelineContext, string, undefined, Body[]>,
): Promise<Row[]> {
  const pointerOf = (index: number) => `/${index}`
  for (const [index, body] of bodies.entries())
    await firstViolation.collect(pointerOf(index), async () => definition.writing.check(body, input))
  return input.write(async (trx) => {
    const saved = await saveByName(trx, definition, bodies, input, { pointerOf, violations: firstViolation })
    for (const savedRow of saved) auditSaved(savedRow, input.request)
    return saved.map(({ after }) => after)
  })
}

export interface SaveOptions {
  /** Returns the JSON pointer of the object at this index in the request. */
  pointerOf(index: number): string
  violations: ViolationList
  /** Returns the former name of an object that this request renames. */
  formerName?(index: number): string | undefined
  /** Aborts between two objects, with the signal's reason. */
  signal?: AbortSignal
}

/**
 * Creates or replaces objects by name in the caller's transaction. Returns the rows in the order of the objects. Throws
 * the violations of all objects. First tries to save all objects with few statements. If that is not possible, saves
 * them one after another.
 */
export async function saveByName<Row extends NamedRow, Body extends { name: string }>(
  trx: Transaction<DB>,
  definition: BulkSaveDefinition<Row, Body, any>,
  bodies: readonly Body[],
  input: RequestContext,
  options: SaveOptions,
): Promise<SavedRow<Row>[]> {
  if (bodies.length === 0) return []
  const savedInBatch = await trySaveInBatch(trx, definition, bodies, input, options)
  return savedInBatch ?? saveOneByOne(trx, definition, bodies, input, options)
}

/**
 * Saves all objects with few statements: updates existing ones, and inserts all new ones at once. Returns undefined and
 * changes nothing if an object is invalid or depends on the change of another one; then use `saveOneByOne`.
 */
async function trySaveInBatch<Row extends NamedRow, Body extends { name: string }>(
  trx: Transaction<DB>,
  definition: BulkSaveDefinition<Row, Body>,
  bodies: readonly Body[],
  input: RequestContext,
  { formerName, signal }: SaveOptions,
): Promise<SavedRow<Row>[] | undefined> {
  const { records } = definition
  const { caller } = input
  const saved: SavedRow<Row>[] = []
  await sql`savepoint batch`.execute(trx)
  try {
    const findUid = await findUidsByName(trx, definition, bodies, input, formerName)
    const uids = bodies.map((_body, index) => findUid(index))
    const storedUids = uids.filter((uid) => uid !== undefined)
    const locked = await records.lockAll(trx, caller, storedUids)
    // The caller may not write some of the stored objects. `saveOneByOne` reports which ones.
    if (locked.size < storedUids.length) throw new CannotSaveInBatch()
    const writing = definition.cached?.(trx, input) ?? definition.writing
    const newItems: { index: number; columns: object }[] = []
    for (const [index, body] of bodies.entries()) {
      signal?.throwIfAborted()
      const before = locked.get(uids[index] ?? '')
      if (before) saved[index] = await saveRow(trx, { records, writing }, body, before, input)
      else newItems.push({ index, columns: await writing.columns(trx, body, undefined, input) })
    }
    const rows = await records.insertAll(
      trx,
      caller,
      newItems.map(({ columns }) => columns),
    )
    for (const [position, { index }] of newItems.entries()) {
      const after = rows[position]!
      saved[index] = {
        after,
        relatedFields: (await writing.writeRelatedRows?.(trx, after, bodies[index]!, undefined, input)) ?? {},
      }
    }
    await sql`release savepoint batch`.execute(trx)
    return saved
  } catch (error) {
    if (!(error instanceof CannotSaveInBatch) && !toViolations(error)) throw error
    await sql`rollback to savepoint batch`.execute(trx)
    return undefined
  }
}

class CannotSaveInBatch extends Error {}

/**
 * Saves the objects one after another, so that each save sees the previous ones. Throws the violations of all objects.
 */
async function saveOneByOne<Row extends NamedRow, Body extends { name: string }>(
  trx: Transaction<DB>,
  definition: BulkSaveDefinition<Row, Body>,
  bodies: readonly Body[],
  input: RequestContext,
  { pointerOf, violations, formerName, signal }: SaveOptions,
): Promise<SavedRow<Row>[]> {
  const saved: SavedRow<Row>[] = []
  for (const [index, body] of bodies.entries()) {
    signal?.throwIfAborted()
    await sql`savepoint one`.execute(trx)
    const isValid = await violations.collect(pointerOf(index), async () => {
      const findUid = await findUidsByName(trx, definition, [body], input, () => formerName?.(index))
      const uid = findUid(0)
      const before = uid === undefined ? undefined : await lockStoredObject(trx, definition, uid, input)
      saved.push(await saveRow(trx, definition, body, before, input))
    })
    await (isValid ? sql`release savepoint one` : sql`rollback to savepoint one`).execute(trx)
    if (violations.isFull) break
  }
  violations.throwIfAny()
  return saved
}

/**
 * Returns a function that maps the index of a body to the uid of the stored object that the body replaces. This is the
 * object with the name of the body. Otherwise it is the object with the former name. The function returns undefined for
 * a new object.
 */
async function findUidsByName<Row extends NamedRow>(
  trx: Transaction<DB>,
  { records }: BulkSaveDefinition<Row, any>,
  bodies: readonly { name: string }[],
  { caller }: RequestContext,
  formerName: SaveOptions['formerName'],
): Promise<(index: number) => string | undefined> {
  const names = bodies.flatMap(({ name }, index) => [name, formerName?.(index) ?? name])
  const uids = await readUidsByName(trx, records.definition.table, caller.client, names)
  return (index) => uids.get(bodies[index]!.name) ?? uids.get(formerName?.(index) ?? '')
}

/** Returns the uids of an organisation's objects with these names, by name. */
export async function readUidsByName(
  trx: Transaction<DB>,
  table: string,
  client: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ uid: string; name: string }>`
    select uid, name from ${sql.table(table)} where client = ${client} and name = any(${[...new Set(names)]})`.execute(
    trx,
  )
  return new Map(rows.map(({ uid, name }) => [name, uid]))
}

/** Locks the stored object that a body replaces. Throws 409 if the caller may not see it. */
async function lockStoredObject<Row extends NamedRow>(
  trx: Transaction<DB>,
  { records }: BulkSaveDefinition<Row, any>,
  uid: string,
  { caller }: RequestContext,
): Promise<Row> {
  return records.lock(trx, caller, uid, undefined).catch((error: unknown) => {
    // The name may belong to an object that the caller may not see. The message does not reveal which one.
    if (error instanceof Problem && error.status === 404)
      throw problems.conflict('/name', `Another ${records.definition.noun} has this name. Choose another name.`)
    throw error
  })
}

/** Yields the index of each object that has the same name as an earlier one. */
export function* findRepeatedNames(bodies: readonly { name: string }[]): Generator<[index: number, name: string]> {
  const names = new Set<string>()
  for (const [index, { name }] of bodies.entries()) {
    if (names.has(name)) yield [index, name]
    names.add(name)
  }
}
