import {
  type Configuration,
  type ConfigurationChanges,
  type ConfigurationKind,
  type ConfiguredObject,
  configurationKinds,
  getConfigurationRole,
  hasRole,
} from '@sluice/contracts'
import { type OperationInput, Problem, problems } from '@sluice/http-server'
import { auditSaved, type SavedRow } from '@sluice/records'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'
import { saveByName } from '../bulk-saves/save-by-name.ts'
import { createViolationList } from '../bulk-saves/violation-list.ts'
import { compareObjects, compareSecrets, findValueAt, type SecretState } from './compare-objects.ts'
import { type DescribedRow, describeRows, toConfigurationObject } from './export-configuration.ts'
import { kindAdapters, readSecretsByPointer } from './object-kinds.ts'
import { type KnownPrincipals, readPrincipals, readStoredAccess } from './principals.ts'
import { type ObjectChange, presentChanges } from './present-changes.ts'
import { type NamesOfKinds, type ReadStoredObjects, resolveNames } from './resolve-names.ts'
import {
  countComparisons,
  describeComparisons,
  digestComparison,
  type SecretComparison,
  tooManyComparisons,
} from './secret-comparisons.ts'
import { assertNoViewCycles } from './view-cycles.ts'

type ChangeRequest = OperationInput<PipelineContext, string, { plan?: string } | undefined, Configuration>

/** Returns what applying the configuration would change: applies it in a transaction and rolls back. */
export const planConfiguration = (input: ChangeRequest): Promise<ConfigurationChanges> =>
  changeConfiguration(input, { apply: false })

/** Saves all objects of the configuration, or none if one cannot be saved. */
export const applyConfiguration = (input: ChangeRequest): Promise<ConfigurationChanges> =>
  changeConfiguration(input, { apply: true })

/** Timeout of a plan or apply in milliseconds, including the wait for another one of the same organisation. */
const changeTimeoutMs = 300_000

/** Plans or applies a configuration. Rolls back when the caller disconnects or after `changeTimeoutMs`. */
function changeConfiguration(input: ChangeRequest, { apply }: { apply: boolean }): Promise<ConfigurationChanges> {
  assertRoles(input.body, input)
  const onTimeout = (): never => {
    throw problems.refused(
      '/',
      `The configuration took longer than ${changeTimeoutMs / 60_000} minutes, so nothing was saved. Split it into several documents, by kinds for example.`,
    )
  }
  return runWhileConnected(
    { request: input.request, queue: (callback) => callback(), timeoutMs: changeTimeoutMs, onTimeout },
    (signal) => runChange(input, { apply, signal }),
  )
}

/**
 * Saves the configuration in a transaction, and writes the result to the audit log. For a plan, it rolls the save back,
 * and counts the comparisons with stored secrets. If the request fails, it counts and audits the comparisons made so
 * far.
 */
async function runChange(
  input: ChangeRequest,
  { apply, signal }: { apply: boolean; signal: AbortSignal },
): Promise<ConfigurationChanges> {
  const { body: configuration, caller, request, keyRing } = input
  const resources = await readStoredAccess(configuration, input)
  const principals = await readPrincipals({ configuration, resources }, input)
  const comparisons: SecretComparison[] = []
  try {
    return await input.write(async (trx) => {
      // The transaction runs again after a deadlock, so discard the comparisons of the previous attempt.
      comparisons.length = 0
      await waitForOtherChanges(trx, caller.client)
      await sql`savepoint configuration`.execute(trx)
      // During the transaction, no lookup may wait for the identity service.
      const offlineInput = { ...input, db: trx, identity: principals.identity }
      const changes = await saveConfiguration(trx, configuration, offlineInput, { principals, comparisons, signal })
      const response = presentChanges(changes, { applied: apply, ring: keyRing })
      if (apply) {
        const expectedPlan = input.query?.plan
        if (expectedPlan !== undefined && expectedPlan !== response.plan) throw outdatedPlan()
      } else {
        await sql`rollback to savepoint configuration`.execute(trx)
        const waitSeconds = await countComparisons(trx, comparisons, input)
        if (waitSeconds > 0) throw tooManyComparisons(waitSeconds)
      }
      const { created, updated, unchanged } = response
      request.audit(null, { created, updated, unchanged, ...describeComparisons(comparisons, { withStates: true }) })
      if (apply) for (const { saved, result } of changes) if (result !== 'UNCHANGED') auditSaved(saved, request)
      return response
    })
  } catch (error) {
    if (comparisons.length > 0) await recordFailedComparisons(comparisons, input)
    throw error
  }
}

/** Counts and audits the secret comparisons of a failed request, because its error message may depend on them. */
const recordFailedComparisons = (comparisons: readonly SecretComparison[], input: ChangeRequest): Promise<void> =>
  input.write(async (trx) => {
    const waitSeconds = await countComparisons(trx, comparisons, input)
    const isCounted = waitSeconds === 0
    input.request.audit(null, { outcome: 'FAILED', ...describeComparisons(comparisons, { withStates: isCounted }) })
  })

function assertRoles(configuration: Configuration, { caller }: ChangeRequest): void {
  for (const kind of configurationKinds) {
    const role = getConfigurationRole(kind, 'MANAGE')
    if ((configuration[kind] ?? []).length > 0 && !hasRole(caller.roles, role))
      throw problems.forbidden(
        `Saving ${kind} requires ${role}. Ask an administrator for this role, or remove ${kind} from the configuration.`,
      )
  }
}

/** Milliseconds for which a request waits for another plan or apply of the organisation. */
const lockTimeoutMs = 60_000

/**
 * Waits until no other transaction plans or applies a configuration of the organisation. Otherwise both could create
 * the same object.
 */
async function waitForOtherChanges(trx: Transaction<DB>, client: string): Promise<void> {
  const { rows } = await sql<{ timeout: string }>`
    select current_setting('lock_timeout') as timeout, set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`.execute(
    trx,
  )
  await sql`select pg_advisory_xact_lock(hashtextextended(${`configuration:${client}`}, 0))`.execute(trx)
  await sql`select set_config('lock_timeout', ${rows[0]!.timeout}, true)`.execute(trx)
}

const outdatedPlan = () =>
  new Problem(412, 'stale', 'The object has changed since it was read.', {
    detail: 'The changes differ from those of the plan, so nothing was saved. Plan the configuration again.',
  })

/**
 * Saves the configuration kind by kind in the caller's transaction. Throws the violations of the first kind that has
 * any.
 */
async function saveConfiguration(
  trx: Transaction<DB>,
  configuration: Configuration,
  input: RequestContext,
  saveContext: Pick<ObjectsToSave, 'principals' | 'comparisons' | 'signal'>,
): Promise<ObjectChange[]> {
  const readStoredObjects: ReadStoredObjects = async (kind, objects) => {
    const replaced = await findReplacedObjects(trx, { kind, objects }, input)
    const toObject = (described: DescribedRow) =>
      toConfigurationObject(kind, described, saveContext.principals, input.keyRing)
    return new Map([...replaced].map(([object, described]) => [object, toObject(described)]))
  }
  const names = await resolveNames(trx, configuration, input.caller, readStoredObjects)
  const changes: ObjectChange[] = []
  for (const kind of configurationKinds) {
    const objects = configuration[kind] ?? []
    if (objects.length === 0) continue
    changes.push(...(await saveKind(trx, { kind, objects, names, ...saveContext }, input)))
    if (kind === 'views') await assertNoViewCycles(trx, input.caller, objects)
  }
  return changes
}

interface ObjectsToSave {
  kind: ConfigurationKind
  objects: ConfiguredObject[]
  names: NamesOfKinds
  principals: KnownPrincipals
  /** Collects the comparisons of values in the document with stored secrets. */
  comparisons: SecretComparison[]
  signal: AbortSignal
}

/**
 * Saves the objects of one kind, such as views, and returns their changes. An object that the configuration does not
 * change is not written, so it keeps its version and no run starts. To find these objects, this function saves all
 * objects and compares them. If some are unchanged, it rolls back and saves only the others.
 */
async function saveKind(
  trx: Transaction<DB>,
  objectsToSave: ObjectsToSave,
  input: RequestContext,
): Promise<ObjectChange[]> {
  const { kind, objects, names } = objectsToSave
  const before = await findReplacedObjects(trx, objectsToSave, input)
  await sql`savepoint kind`.execute(trx)
  await names.prepare(trx, kind, objects)
  const indexes = objects.map((_object, index) => index)
  const saved = await saveObjects(trx, objectsToSave, indexes, input)
  const rowsAfter = saved.map(({ after }) => after)
  const after = await describeRows(kind, rowsAfter, input)
  const changes = objects.map((object, index) =>
    compareWithStored(
      objectsToSave,
      { object, saved: saved[index]!, before: before.get(object), after: after[index]! },
      input,
    ),
  )
  const changedIndexes = indexes.filter((index) => changes[index]!.result !== 'UNCHANGED')
  if (changedIndexes.length === objects.length) {
    await sql`release savepoint kind`.execute(trx)
    return changes
  }
  await sql`rollback to savepoint kind`.execute(trx)
  const savedAgain = await saveObjects(trx, objectsToSave, changedIndexes, input)
  for (const [position, index] of changedIndexes.entries())
    changes[index] = { ...changes[index]!, saved: savedAgain[position]! }
  return changes
}

/**
 * Returns the stored object that each object of the configuration replaces. Omits objects that the caller may not see.
 */
async function findReplacedObjects(
  trx: Transaction<DB>,
  { kind, objects }: { kind: ConfigurationKind; objects: readonly ConfiguredObject[] },
  input: RequestContext,
): Promise<Map<ConfiguredObject, DescribedRow>> {
  const { table, scope } = kindAdapters[kind].bulkSave.records.definition
  const names = objects.flatMap(({ name, was }) => (was === undefined ? [name] : [name, was]))
  const { rows } = await sql<DescribedRow['row']>`
    select r.* from ${sql.table(table)} as r where r.name = any(${names}) and ${scope(input.caller, 'READ')}`.execute(
    trx,
  )
  const described = await describeRows(kind, rows, input)
  const storedByName = new Map(described.map((stored) => [stored.row.name, stored]))
  return new Map(
    objects.flatMap((object) => {
      const stored = storedByName.get(object.name) ?? storedByName.get(object.was ?? '')
      return stored ? [[object, stored] as const] : []
    }),
  )
}

/** Checks and saves the objects with these indexes. */
async function saveObjects(
  trx: Transaction<DB>,
  { kind, objects, names, principals, signal }: ObjectsToSave,
  indexes: readonly number[],
  input: RequestContext,
): Promise<SavedRow<DescribedRow['row']>[]> {
  const { bulkSave, toBody } = kindAdapters[kind]
  const violations = createViolationList(names.describeViolation)
  // `position` is a position in `indexes`, which contains the positions of the objects in the document.
  const pointerOf = (position: number) => `/${kind}/${indexes[position]}`
  const bodies: { name: string }[] = []
  for (const [position, index] of indexes.entries()) {
    const { was: _was, redacted, access, ...fields } = objects[index]!
    // A variable may lack a value only if the document lists its value as redacted.
    const object = kind === 'variables' ? { ...fields, redacted } : fields
    const body = toBody(object, names.findId) as { name: string }
    const refuse = (pointer: string, detail: string) => violations.add(`${pointerOf(position)}${pointer}`, detail)
    bodies.push({ ...body, ...(access && { access: principals.resolveAccess(access, refuse) }) })
  }
  violations.throwIfAny()
  for (const [position, body] of bodies.entries()) {
    signal.throwIfAborted()
    await violations.collect(pointerOf(position), async () => bulkSave.writing.check(body, input))
    if (violations.isFull) break
  }
  violations.throwIfAny()
  const formerName = (position: number) => objects[indexes[position]!]!.was
  return saveByName(trx, bulkSave, bodies, input, { pointerOf, violations, formerName, signal }) as Promise<
    SavedRow<DescribedRow['row']>[]
  >
}

interface SavedObject {
  object: ConfiguredObject
  saved: SavedRow<DescribedRow['row']>
  before: DescribedRow | undefined
  after: DescribedRow
}

/** Compares a saved object with the previously stored one. Adds the compared secrets to `comparisons`. */
function compareWithStored(
  { kind, principals, comparisons }: ObjectsToSave,
  { object, saved, before, after }: SavedObject,
  { keyRing }: RequestContext,
): ObjectChange {
  const toObject = (described: DescribedRow) => toConfigurationObject(kind, described, principals, keyRing)
  const comparison = compareObjects(before && toObject(before), toObject(after))
  const secretsBefore = before ? readSecretsByPointer(kind, before.row, keyRing) : {}
  const secretsAfter = readSecretsByPointer(kind, after.row, keyRing)
  const secrets = compareSecrets(object, secretsBefore, secretsAfter)
  for (const { pointer, state } of secrets) {
    const isComparison = state === 'SAME' || state === 'CHANGED'
    const isInDocument = findValueAt(object, pointer) !== undefined
    if (!isComparison || !isInDocument) continue
    const compared = {
      uid: before!.row.uid,
      pointer,
      stored: secretsBefore[pointer]!,
      sent: secretsAfter[pointer]!,
    }
    comparisons.push({ kind, name: object.name, pointer, state, digest: digestComparison(compared, keyRing) })
  }
  const changesSecrets = secrets.some(({ state }) => ['CHANGED', 'SET', 'REMOVED'].includes(state))
  const isChanged = comparison.fields.length > 0 || changesSecrets
  const resultOfExisting = isChanged ? 'UPDATED' : 'UNCHANGED'
  const result = before ? resultOfExisting : 'CREATED'
  const { pending = false } = (kindAdapters[kind].bulkSave.present?.(saved) ?? {}) as { pending?: boolean }
  const isRenamed = before !== undefined && before.row.name !== object.name
  return {
    ...comparison,
    kind,
    name: object.name,
    was: isRenamed ? before.row.name : undefined,
    result,
    secrets,
    secretsForDigest: listSecretsForDigest(kind, object, before, secrets),
    pending: pending && result !== 'UNCHANGED',
    saved,
  }
}

/**
 * Returns the secrets that the plan's digest covers: the encrypted stored values, and the values in the document. If
 * one changes between plan and apply, the digest differs.
 */
function listSecretsForDigest(
  kind: ConfigurationKind,
  object: ConfiguredObject,
  before: DescribedRow | undefined,
  secrets: readonly SecretState[],
): unknown[] {
  const column = kindAdapters[kind].encryptedColumn
  const encrypted = before && column ? (before.row as unknown as Record<string, unknown>)[column] : undefined
  return [encrypted ?? null, ...secrets.map(({ pointer }) => findValueAt(object, pointer) ?? null)]
}
