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
import { checkBodies, saveByName } from '../bulk-saves/save-by-name.ts'
import { createViolationList } from '../bulk-saves/violation-list.ts'
import { compareObjects, compareSecrets, findValueAt, type SecretState } from './compare-objects.ts'
import { type DescribedRow, describeRows, toConfigurationObject } from './export-configuration.ts'
import { kindAdapters, readSecretsByPointer } from './object-kind-adapters.ts'
import { type KnownPrincipals, readPrincipals, readStoredAccess } from './shared-principals.ts'
import { type ObjectChange, presentChanges } from './configuration-change-response.ts'
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
    { request: input.request, queue: withoutQueue, timeoutMs: changeTimeoutMs, onTimeout },
    (signal) => runChange(input, { apply, signal }),
  )
}

/** Starts the work at once. The database lock in `waitForOtherChanges` limits an organisation to one change. */
const withoutQueue = <T>(callback: () => Promise<T>): Promise<T> => callback()

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
  let comparisons: SecretComparison[] = []
  try {
    return await input.write(async (trx) => {
      // The transaction runs again after a deadlock. Each attempt starts with an empty list.
      comparisons = []
      await waitForOtherChanges(trx, caller.client)
      await sql`savepoint configuration`.execute(trx)
      // During the transaction, no lookup may wait for the identity service.
      const offlineInput = { ...input, db: trx, identity: principals.identity }
      const changes = await saveConfiguration(trx, configuration, offlineInput, { principals, comparisons, signal })
      const response = presentChanges(changes, { applied: apply, ring: keyRing })
      if (apply) assertAsPlanned(input.query?.plan, response)
      else {
        await sql`rollback to savepoint configuration`.execute(trx)
        const waitSeconds = await countComparisons(trx, comparisons, input)
        if (waitSeconds !== undefined) throw tooManyComparisons(waitSeconds)
      }
      const { created, updated, unchanged } = response
      request.audit(null, { created, updated, unchanged, ...describeComparisons(comparisons, { withStates: true }) })
      const writtenChanges = apply ? changes.filter(({ result }) => result !== 'UNCHANGED') : []
      for (const { saved } of writtenChanges) auditSaved(saved, request)
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
    const isCounted = waitSeconds === undefined
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

/** Throws 412 if the request expects a plan, and the changes differ from it. */
function assertAsPlanned(expectedPlan: string | undefined, { plan }: ConfigurationChanges): void {
  if (expectedPlan === undefined || expectedPlan === plan) return
  throw new Problem(412, 'stale', 'The object has changed since it was read.', {
    detail: 'The changes differ from those of the plan, so nothing was saved. Plan the configuration again.',
  })
}

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
  const replaced = await findReplacedObjects(trx, objectsToSave, input)
  await sql`savepoint kind`.execute(trx)
  await names.prepare(trx, kind, objects)
  const savedObjects = await saveObjects(trx, objectsToSave, objects, input)
  const savedRows = objects.map((object) => savedObjects.get(object)!)
  const described = await describeRows(
    kind,
    savedRows.map(({ after }) => after),
    input,
  )
  const changes = objects.map((object, index) => {
    const savedObject = { object, saved: savedRows[index]!, before: replaced.get(object), after: described[index]! }
    return compareWithStored(objectsToSave, savedObject, input)
  })
  const changedObjects = objects.filter((_object, index) => changes[index]!.result !== 'UNCHANGED')
  if (changedObjects.length === objects.length) {
    await sql`release savepoint kind`.execute(trx)
    return changes
  }
  await sql`rollback to savepoint kind`.execute(trx)
  const savedAgain = await saveObjects(trx, objectsToSave, changedObjects, input)
  return changes.map((change, index) => ({ ...change, saved: savedAgain.get(objects[index]!) ?? change.saved }))
}

/**
 * Returns the stored object that each object of the configuration replaces: the one with its name, otherwise the one
 * with its former name (`was`). Omits objects that the caller may not see.
 */
async function findReplacedObjects(
  trx: Transaction<DB>,
  { kind, objects }: { kind: ConfigurationKind; objects: readonly ConfiguredObject[] },
  input: RequestContext,
): Promise<Map<ConfiguredObject, DescribedRow>> {
  const { table, scope } = kindAdapters[kind].bulkSave.records.definition
  const possibleNames = ({ name, was }: ConfiguredObject) => (was === undefined ? [name] : [name, was])
  const names = objects.flatMap(possibleNames)
  const { rows } = await sql<DescribedRow['row']>`
    select r.* from ${sql.table(table)} as r where r.name = any(${names}) and ${scope(input.caller, 'READ')}`.execute(
    trx,
  )
  const described = await describeRows(kind, rows, input)
  const storedByName = new Map(described.map((stored) => [stored.row.name, stored]))
  return new Map(
    objects.flatMap((object) => {
      const storedName = possibleNames(object).find((name) => storedByName.has(name))
      return storedName === undefined ? [] : [[object, storedByName.get(storedName)!] as const]
    }),
  )
}

/** Checks and saves some objects of a kind. Returns the saved rows. Throws the violations of all objects. */
async function saveObjects(
  trx: Transaction<DB>,
  { kind, objects, names, principals, signal }: ObjectsToSave,
  someObjects: readonly ConfiguredObject[],
  input: RequestContext,
): Promise<Map<ConfiguredObject, SavedRow<DescribedRow['row']>>> {
  const { bulkSave } = kindAdapters[kind]
  const violations = createViolationList(names.describeViolation)
  const indexInDocument = new Map(objects.map((object, index) => [object, index]))
  const pointerOf = (position: number) => `/${kind}/${indexInDocument.get(someObjects[position]!)}`
  const options = { pointerOf, violations, formerName: (position: number) => someObjects[position]!.was, signal }
  const bodies = someObjects.map((object, position) =>
    toRequestBody(kind, object, { names, principals }, (pointer, detail) =>
      violations.add(`${pointerOf(position)}${pointer}`, detail),
    ),
  )
  violations.throwIfAny()
  await checkBodies(bulkSave, bodies, input, options)
  violations.throwIfAny()
  const savedRows: SavedRow<DescribedRow['row']>[] = await saveByName(trx, bulkSave, bodies, input, options)
  return new Map(someObjects.map((object, position) => [object, savedRows[position]!]))
}

/**
 * Converts an object in the document to the request body that would save it: replaces names by ids. Calls `refuse` for
 * access rights of unknown users and groups.
 */
function toRequestBody(
  kind: ConfigurationKind,
  { was: _was, redacted, access, ...fields }: ConfiguredObject,
  { names, principals }: Pick<ObjectsToSave, 'names' | 'principals'>,
  refuse: (pointer: string, detail: string) => void,
): { name: string } {
  // A variable may lack a value only if the document lists its value as redacted.
  const object = kind === 'variables' ? { ...fields, redacted } : fields
  const body = kindAdapters[kind].toBody(object, names.findId) as { name: string }
  return { ...body, ...(access && { access: principals.resolveAccess(access, refuse) }) }
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
  const comparedSecrets = secrets.filter((secret): secret is ComparedSecret => isComparedWithStored(object, secret))
  for (const { pointer, state } of comparedSecrets) {
    const values = { uid: before!.row.uid, pointer, stored: secretsBefore[pointer]!, sent: secretsAfter[pointer]! }
    comparisons.push({ kind, name: object.name, pointer, state, digest: digestComparison(values, keyRing) })
  }
  const changesSecrets = secrets.some(({ state }) => ['CHANGED', 'SET', 'REMOVED'].includes(state))
  const isChanged = comparison.fields.length > 0 || changesSecrets
  const resultOfExisting = isChanged ? 'UPDATED' : 'UNCHANGED'
  const result = before ? resultOfExisting : 'CREATED'
  const isRenamed = before !== undefined && before.row.name !== object.name
  return {
    ...comparison,
    kind,
    name: object.name,
    was: isRenamed ? before.row.name : undefined,
    result,
    secrets,
    secretsForDigest: listSecretsForDigest(kind, object, before, secrets),
    pending: result !== 'UNCHANGED' && isPending(kind, saved),
    saved,
  }
}

type ComparedSecret = SecretState & Pick<SecretComparison, 'state'>

/** Returns whether the document has a value for a secret that was already stored. */
const isComparedWithStored = (object: ConfiguredObject, { pointer, state }: SecretState): boolean =>
  (state === 'SAME' || state === 'CHANGED') && findValueAt(object, pointer) !== undefined

/** Returns whether a saved view waits until the warehouse can create it. Other kinds are never pending. */
function isPending(kind: ConfigurationKind, saved: SavedRow<any>): boolean {
  const { pending = false }: { pending?: boolean } = kindAdapters[kind].bulkSave.present?.(saved) ?? {}
  return pending
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
  const { encryptedColumn } = kindAdapters[kind]
  const storedColumns: Record<string, unknown> = { ...before?.row }
  const storedSecrets = encryptedColumn === undefined ? undefined : storedColumns[encryptedColumn]
  const sentSecrets = secrets.map(({ pointer }) => findValueAt(object, pointer))
  return [storedSecrets, ...sentSecrets].map((secret) => secret ?? null)
}
