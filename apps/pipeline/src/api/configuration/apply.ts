import { createHash } from 'node:crypto'
import {
  type Configuration,
  type ConfigurationChanges,
  type ConfigurationKind,
  type ConfiguredObject,
  configurationKinds,
  configurationRole,
  hasRole,
} from '@sluice/contracts'
import { type OperationInput, Problem, problems } from '@sluice/http-server'
import { auditSaved, type SavedRow } from '@sluice/records'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { saveByName } from '../bulk-saves/save-by-name.ts'
import { createViolationList } from '../bulk-saves/violation-list.ts'
import { compareObjects, compareSecrets, type ObjectComparison, type SecretState } from './compare.ts'
import { type DescribedRow, describeRows, toConfigured } from './export.ts'
import { configuredKinds, readSecretsOf } from './kinds.ts'
import { type KnownPrincipals, readPrincipals, readStoredAccess } from './principals.ts'
import { type NamesOfKinds, resolveNames } from './resolve-names.ts'
import { assertNoViewCycles } from './view-cycles.ts'

type ChangeRequest = OperationInput<PipelineContext, string, { plan?: string } | undefined, Configuration>

/** Returns what applying the configuration would change. It does the same as `applyConfiguration` and undoes it. */
export const planConfiguration = (input: ChangeRequest): Promise<ConfigurationChanges> =>
  changeConfiguration(input, false)

/** Saves all objects of the configuration, or none. */
export const applyConfiguration = (input: ChangeRequest): Promise<ConfigurationChanges> =>
  changeConfiguration(input, true)

async function changeConfiguration(input: ChangeRequest, apply: boolean): Promise<ConfigurationChanges> {
  const { body: configuration, caller, request } = input
  assertRoles(configuration, input)
  const resources = await readStoredAccess(configuration, input)
  const principals = await readPrincipals({ configuration, resources }, input)
  return input.write(async (trx) => {
    await waitForOtherChanges(trx, caller.client)
    await sql`savepoint configuration`.execute(trx)
    const offline = { ...input, db: trx, identity: principals.identity }
    const changes = await saveConfiguration(trx, configuration, offline, principals)
    const answer = presentChanges(changes, apply)
    if (!apply) await sql`rollback to savepoint configuration`.execute(trx)
    else if (input.query?.plan !== undefined && input.query.plan !== answer.plan) throw outdatedPlan()
    const { created, updated, unchanged } = answer
    request.audit(null, { created, updated, unchanged })
    if (apply) for (const { saved, result } of changes) if (result !== 'UNCHANGED') auditSaved(saved, request)
    return answer
  })
}

function assertRoles(configuration: Configuration, { caller }: ChangeRequest): void {
  for (const kind of configurationKinds) {
    const role = configurationRole(kind, 'MANAGE')
    if ((configuration[kind] ?? []).length > 0 && !hasRole(caller.roles, role))
      throw problems.forbidden(`This needs ${role}, because the configuration has ${kind}.`)
  }
}

/** Milliseconds that a request waits for another plan or apply of the organisation. */
const changeTimeoutMs = 60_000

/** Waits until no other transaction plans or applies a configuration of the client, so that two do not create the same objects. */
async function waitForOtherChanges(trx: Transaction<DB>, client: string): Promise<void> {
  const { rows } = await sql<{ timeout: string }>`
    select current_setting('lock_timeout') as timeout, set_config('lock_timeout', ${String(changeTimeoutMs)}, true)`.execute(
    trx,
  )
  await sql`select pg_advisory_xact_lock(hashtextextended(${`configuration:${client}`}, 0))`.execute(trx)
  await sql`select set_config('lock_timeout', ${rows[0]!.timeout}, true)`.execute(trx)
}

const outdatedPlan = () =>
  new Problem(412, 'stale', 'The object has changed since it was read.', {
    detail: 'The changes differ from those of the plan, so nothing was saved. Plan the configuration again.',
  })

/** An object of the configuration with what saving it changes. */
interface ObjectChange extends ObjectComparison {
  kind: ConfigurationKind
  name: string
  was: string | undefined
  result: 'CREATED' | 'UPDATED' | 'UNCHANGED'
  secrets: SecretState[]
  pending: boolean
  saved: SavedRow<DescribedRow['row']>
}

/** Saves the configuration kind by kind in the caller's transaction. Throws the violations of the first kind that has some. */
async function saveConfiguration(
  trx: Transaction<DB>,
  configuration: Configuration,
  input: RequestContext,
  principals: KnownPrincipals,
): Promise<ObjectChange[]> {
  const names = await resolveNames(trx, configuration, input.caller.client)
  const changes: ObjectChange[] = []
  for (const kind of configurationKinds) {
    const objects = configuration[kind] ?? []
    if (objects.length === 0) continue
    changes.push(...(await saveKind(trx, { kind, objects, names, principals }, input)))
    if (kind === 'views') await assertNoViewCycles(trx, input.caller.client, objects)
  }
  return changes
}

interface KindToSave {
  kind: ConfigurationKind
  objects: ConfiguredObject[]
  names: NamesOfKinds
  principals: KnownPrincipals
}

/**
 * Saves the objects of a kind. Objects that the save leaves as they were are not written: they keep their versions, and no run follows.
 * To find them, this function saves all objects, compares, and if needed undoes that and saves only the others.
 */
async function saveKind(trx: Transaction<DB>, kindToSave: KindToSave, input: RequestContext): Promise<ObjectChange[]> {
  const { kind, objects, names } = kindToSave
  const before = await readStored(trx, kindToSave, input)
  await sql`savepoint kind`.execute(trx)
  await names.prepare(trx, kind, objects)
  const indexes = objects.map((_object, index) => index)
  const saved = await saveObjects(trx, kindToSave, indexes, input)
  const after = await describeRows(
    kind,
    saved.map((one) => one.after),
    input,
  )
  const changes = objects.map((object, index) =>
    compareSaved(kindToSave, { object, saved: saved[index]!, before: before.get(object), after: after[index]! }, input),
  )
  const changed = indexes.filter((index) => changes[index]!.result !== 'UNCHANGED')
  if (changed.length === objects.length) {
    await sql`release savepoint kind`.execute(trx)
    return changes
  }
  await sql`rollback to savepoint kind`.execute(trx)
  const again = await saveObjects(trx, kindToSave, changed, input)
  for (const [place, index] of changed.entries()) changes[index] = { ...changes[index]!, saved: again[place]! }
  return changes
}

/** Returns the stored objects that the objects of a configuration replace. */
async function readStored(
  trx: Transaction<DB>,
  { kind, objects }: KindToSave,
  input: RequestContext,
): Promise<Map<ConfiguredObject, DescribedRow>> {
  const { table } = configuredKinds[kind].named.records.kind
  const names = objects.flatMap(({ name, was }) => (was === undefined ? [name] : [name, was]))
  const { rows } = await sql<DescribedRow['row']>`
    select * from ${sql.table(table)} where client = ${input.caller.client} and name = any(${names})`.execute(trx)
  const described = await describeRows(kind, rows, input)
  const byName = new Map(described.map((one) => [one.row.name, one]))
  return new Map(
    objects.flatMap((object) => {
      const stored = byName.get(object.name) ?? byName.get(object.was ?? '')
      return stored ? [[object, stored] as const] : []
    }),
  )
}

/** Checks and saves the objects at these indexes. */
async function saveObjects(
  trx: Transaction<DB>,
  { kind, objects, names, principals }: KindToSave,
  indexes: readonly number[],
  input: RequestContext,
): Promise<SavedRow<DescribedRow['row']>[]> {
  const { named, toBody } = configuredKinds[kind]
  const violations = createViolationList(names.describeViolation)
  const at = (index: number) => `/${kind}/${indexes[index]}`
  const bodies: { name: string }[] = []
  for (const [place, index] of indexes.entries()) {
    const { was: _was, redacted, access, ...fields } = objects[index]!
    const given = kind === 'variables' ? { ...fields, redacted } : fields
    const body = toBody(given, names.findId) as { name: string }
    const missing = (pointer: string, detail: string) => violations.add(`${at(place)}${pointer}`, detail)
    bodies.push({ ...body, ...(access && { access: principals.resolveAccess(access, missing) }) })
  }
  violations.throwIfAny()
  for (const [place, body] of bodies.entries()) {
    await violations.collect(at(place), async () => named.writing.check(body, input))
    if (violations.isFull) break
  }
  violations.throwIfAny()
  const formerName = (place: number) => objects[indexes[place]!]!.was
  return saveByName(trx, named, bodies, input, { pointerOf: at, violations, formerName }) as Promise<
    SavedRow<DescribedRow['row']>[]
  >
}

interface SavedObject {
  object: ConfiguredObject
  saved: SavedRow<DescribedRow['row']>
  before: DescribedRow | undefined
  after: DescribedRow
}

function compareSaved(
  { kind, principals }: KindToSave,
  { object, saved, before, after }: SavedObject,
  { keyRing }: RequestContext,
): ObjectChange {
  const toObject = (one: DescribedRow) => toConfigured(kind, one, principals, keyRing)
  const comparison = compareObjects(before && toObject(before), toObject(after))
  const secrets = compareSecrets(
    object,
    before ? readSecretsOf(kind, before.row, keyRing) : {},
    readSecretsOf(kind, after.row, keyRing),
  )
  const changesSecrets = secrets.some(({ state }) => ['CHANGED', 'SET', 'REMOVED'].includes(state))
  const result = !before ? 'CREATED' : comparison.fields.length > 0 || changesSecrets ? 'UPDATED' : 'UNCHANGED'
  const { pending = false } = (configuredKinds[kind].named.present?.(saved) ?? {}) as { pending?: boolean }
  const was = before && before.row.name !== object.name ? before.row.name : undefined
  return {
    ...comparison,
    kind,
    name: object.name,
    was,
    result,
    secrets,
    pending: pending && result !== 'UNCHANGED',
    saved,
  }
}

function presentChanges(changes: readonly ObjectChange[], applied: boolean): ConfigurationChanges {
  const count = (matches: (change: ObjectChange) => boolean) => changes.filter(matches).length
  const [created, updated, unchanged] = (['CREATED', 'UPDATED', 'UNCHANGED'] as const).map((result) =>
    count((change) => change.result === result),
  ) as [number, number, number]
  const pending = count((change) => change.pending)
  const missing = count(({ secrets }) => secrets.some(({ state }) => state === 'MISSING'))
  return {
    applied,
    message: describeChanges({ created, updated, unchanged, pending, missing }, applied),
    plan: digestOf(changes),
    created,
    updated,
    unchanged,
    pending,
    missing,
    changes: changes.map(({ kind, name, was, result, fields, secrets, pending, saved }) => ({
      kind,
      name,
      ...(was !== undefined && { was }),
      ...((applied || result !== 'CREATED') && { id: saved.after.uid }),
      result,
      fields: fields.map(({ pointer, before, after }) => ({
        pointer,
        ...(before !== undefined && { before: toShortJson(before) }),
        ...(after !== undefined && { after: toShortJson(after) }),
      })),
      redacted: secrets,
      pending,
    })),
  }
}

interface ChangeCounts {
  created: number
  updated: number
  unchanged: number
  pending: number
  missing: number
}

function describeChanges({ created, updated, unchanged, pending, missing }: ChangeCounts, applied: boolean): string {
  const verb = applied ? '' : 'to be '
  const counts = `${created} ${verb}created, ${updated} ${verb}updated, ${unchanged} unchanged.`
  const need = applied ? ['waits for its run', 'wait for their runs'] : ['needs a run', 'need runs']
  const sentences = [
    created + updated === 0 ? 'No changes.' : counts,
    pending > 0 && `${formatCount(pending, 'view')} ${pending === 1 ? need[0] : need[1]} in the warehouse.`,
    missing > 0 && `${formatCount(missing, 'object')} ${missing === 1 ? 'lacks' : 'lack'} a secret: see \`redacted\`.`,
  ]
  return sentences.filter(Boolean).join(' ')
}

const formatCount = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Identifies the changes, whatever the ids of new objects. Given secrets count by their states. */
const digestOf = (changes: readonly ObjectChange[]): string =>
  createHash('sha256')
    .update(
      JSON.stringify(
        changes.map(({ kind, name, was, result, fields, created, secrets }) => [
          kind,
          name,
          was,
          result,
          fields,
          created,
          secrets,
        ]),
      ),
    )
    .digest('hex')

/** Characters of a value in a response. */
const maxValueLength = 1_000

function toShortJson(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength)}…` : text
}
