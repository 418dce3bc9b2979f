import type { OperationSignature } from '@sluice/contracts'
import { type Operation, type OperationInput, Problem, problems } from '@sluice/http-server'
import { auditSaved, type RecordWriter, type Records, type SavedRow, saveRow } from '@sluice/records'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { definePipelineOperation, type PipelineContext, type RequestContext } from '../operation-context.ts'
import { createViolationList, throwingViolationList, toViolations, type ViolationList } from './violation-list.ts'

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
    const violations = createViolationList()
    const options: SaveOptions = { pointerOf: (index) => `/${listField}/${index}`, violations }
    const bodies = await completeBodies(definition, input.body[listField]!, input, options)
    violations.throwIfAny()
    for (const [index, name] of findRepeatedNames(bodies))
      violations.add(`${options.pointerOf(index)}/name`, `"${name}" is in the list twice. Choose another name.`)
    await checkBodies(definition, bodies, input, options)
    violations.throwIfAny()
    return input.write(async (trx) => {
      const saved = await saveByName(trx, definition, bodies, input, options)
      for (const savedRow of saved) auditSaved(savedRow, input.request)
      return { [listField]: saved.map((savedRow) => presentSaved(definition, savedRow)) }
    })
  })
}

/** Returns the complete bodies of the sent objects, which may omit fields. Adds violations to the options' list. */
async function completeBodies<Row extends NamedRow, Body, Sent>(
  { complete }: BulkSaveDefinition<Row, Body, Sent>,
  sentObjects: readonly Sent[],
  input: RequestContext,
  { pointerOf, violations }: SaveOptions,
): Promise<readonly Body[]> {
  // Objects of a type without `complete` are sent as complete bodies.
  if (!complete) return sentObjects as readonly unknown[] as readonly Body[]
  return complete(sentObjects, input, (index, callback) => violations.collect(pointerOf(index), callback))
}

/** Checks each body like a request for a single object. Adds their violations to the options' list until it is full. */
export async function checkBodies<Row extends NamedRow, Body>(
  { writing }: BulkSaveDefinition<Row, Body, any>,
  bodies: readonly Body[],
  input: RequestContext,
  { pointerOf, violations, signal }: SaveOptions,
): Promise<void> {
  for (const [index, body] of bodies.entries()) {
    signal?.throwIfAborted()
    await violations.collect(pointerOf(index), async () => writing.check(body, input))
    if (violations.isFull) return
  }
}

/** Returns the entry of the response for a saved object: whether it was created or updated. */
const presentSaved = <Row extends NamedRow>(
  { present }: BulkSaveDefinition<Row, any, any>,
  savedRow: SavedRow<Row>,
): object => ({
  id: savedRow.after.uid,
  name: savedRow.after.name,
  result: savedRow.before ? 'UPDATED' : 'CREATED',
  ...present?.(savedRow),
})

/**
 * Saves a list of objects by name in one transaction. Returns the rows in the order of the list. Throws the first
 * problem, with the object's index in its pointers.
 */
export async function saveList<Row extends NamedRow, Body extends { name: string }>(
  definition: BulkSaveDefinition<Row, Body>,
  { body: bodies, ...input }: OperationInput<PipelineContext, string, undefined, Body[]>,
): Promise<Row[]> {
  const options: SaveOptions = { pointerOf: (index) => `/${index}`, violations: throwingViolationList }
  await checkBodies(definition, bodies, input, options)
  return input.write(async (trx) => {
    const saved = await saveByName(trx, definition, bodies, input, options)
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
 * changes nothing if an object cannot be saved in this way: if it is invalid, depends on the change of another one, or
 * the caller may not write it. `saveOneByOne` then reports the violations.
 */
async function trySaveInBatch<Row extends NamedRow, Body extends { name: string }>(
  trx: Transaction<DB>,
  definition: BulkSaveDefinition<Row, Body>,
  bodies: readonly Body[],
  input: RequestContext,
  options: SaveOptions,
): Promise<SavedRow<Row>[] | undefined> {
  await sql`savepoint batch`.execute(trx)
  try {
    const saved = await saveInBatch(trx, definition, bodies, input, options)
    await sql`release savepoint batch`.execute(trx)
    return saved
  } catch (error) {
    const canRetryOneByOne = error instanceof CannotSaveInBatch || toViolations(error) !== undefined
    if (!canRetryOneByOne) throw error
    await sql`rollback to savepoint batch`.execute(trx)
    return undefined
  }
}

class CannotSaveInBatch extends Error {}

/**
 * Updates the stored objects and inserts all new ones at once. Returns the rows in the order of the objects. Throws
 * `CannotSaveInBatch` if the caller may not write a stored object, and the violations of an invalid object.
 */
async function saveInBatch<Row extends NamedRow, Body extends { name: string }>(
  trx: Transaction<DB>,
  definition: BulkSaveDefinition<Row, Body>,
  bodies: readonly Body[],
  input: RequestContext,
  { formerName, signal }: SaveOptions,
): Promise<SavedRow<Row>[]> {
  const { records } = definition
  const writing = definition.cached?.(trx, input) ?? definition.writing
  const uids = await findStoredUids(trx, definition, bodies, input, formerName)
  const storedUids = uids.filter((uid) => uid !== undefined)
  const storedRows = await records.lockAll(trx, input.caller, storedUids)
  if (storedRows.size < storedUids.length) throw new CannotSaveInBatch()

  const saved = new Map<Body, SavedRow<Row>>()
  const newBodies: Body[] = []
  const newColumns: object[] = []
  for (const [index, body] of bodies.entries()) {
    signal?.throwIfAborted()
    const uid = uids[index]
    if (uid === undefined) {
      newBodies.push(body)
      newColumns.push(await writing.columns(trx, body, undefined, input))
    } else saved.set(body, await saveRow(trx, { records, writing }, body, storedRows.get(uid)!, input))
  }
  const newRows = await records.insertAll(trx, input.caller, newColumns)
  for (const [index, body] of newBodies.entries()) {
    const after = newRows[index]!
    const relatedFields = (await writing.writeRelatedRows?.(trx, after, body, undefined, input)) ?? {}
    saved.set(body, { after, relatedFields })
  }
  return bodies.map((body) => saved.get(body)!)
}

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
      const [uid] = await findStoredUids(trx, definition, [body], input, () => formerName?.(index))
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
 * Returns for each body the uid of the stored object that it replaces: the object with the name of the body, otherwise
 * the object with its former name. The uid of a new object is undefined.
 */
async function findStoredUids<Row extends NamedRow>(
  trx: Transaction<DB>,
  { records }: BulkSaveDefinition<Row, any>,
  bodies: readonly { name: string }[],
  { caller }: RequestContext,
  formerName: SaveOptions['formerName'],
): Promise<(string | undefined)[]> {
  const possibleNames = bodies.map(({ name }, index) =>
    [name, formerName?.(index)].filter((text) => text !== undefined),
  )
  const uidsByName = await readUidsByName(trx, records.definition.table, caller.client, possibleNames.flat())
  return possibleNames.map((names) => {
    const storedName = names.find((name) => uidsByName.has(name))
    return storedName === undefined ? undefined : uidsByName.get(storedName)
  })
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

/** Locks the stored object that a body replaces. Throws 409 instead of 404 if the caller may not see it. */
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
