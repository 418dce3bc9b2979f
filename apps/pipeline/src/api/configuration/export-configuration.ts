import {
  type Configuration,
  type ConfigurationKind,
  type ConfiguredObject,
  configurationKinds,
  getConfigurationRole,
  exportedKinds,
  type ExportQuery,
  hasRole,
  maxConfiguredObjects,
  type ObjectAccess,
} from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import { type OperationInput, problems } from '@sluice/http-server'
import { sql } from 'kysely'
import type { PipelineContext, RequestContext } from '../operation-context.ts'
import { requestSlots } from '../concurrency-limits.ts'
import { kindAdapters, readSecretsByPointer } from './object-kind-adapters.ts'
import { offlineIdentity, readPrincipals, type KnownPrincipals } from './shared-principals.ts'

type ExportRequest = OperationInput<PipelineContext, '/configuration', ExportQuery, undefined>

/** Exports the objects that the caller may see, all as of the same moment. */
export function exportConfiguration(input: ExportRequest): Promise<Configuration> {
  const { caller, query } = input
  const maySee = (kind: ConfigurationKind) => hasRole(caller.roles, getConfigurationRole(kind, 'SEE'))
  const kinds = configurationKinds.filter((kind) => (query.kinds ? query.kinds.includes(kind) : maySee(kind)))
  const hiddenKind = kinds.find((kind) => !maySee(kind))
  if (hiddenKind)
    throw problems.forbidden(
      `Exporting ${hiddenKind} requires ${getConfigurationRole(hiddenKind, 'SEE')}. Ask an administrator for this role, or omit ${hiddenKind} from the parameter kinds.`,
    )
  return requestSlots.configurations.run(caller.client, async () => {
    const rowsByKind = await readVisibleRows(kinds, input)
    const resources = [...rowsByKind.values()].flat().map(({ resource }) => resource)
    const principals = await readPrincipals({ resources }, input)
    const objectsByKind = [...rowsByKind].map(([kind, rows]) => [
      kind,
      rows.map((row) => toConfigurationObject(kind, row, principals, input.keyRing)),
    ])
    return Object.fromEntries(objectsByKind) as Configuration
  })
}

/** Reads the objects of these kinds that the caller may see, in one snapshot of the database. */
const readVisibleRows = (
  kinds: readonly ConfigurationKind[],
  input: ExportRequest,
): Promise<Map<ConfigurationKind, DescribedRow[]>> =>
  input.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      // The transaction must not wait for the identity service.
      const offlineInput = { ...input, db: trx, identity: offlineIdentity(input.identity) }
      const rowsByKind = new Map<ConfigurationKind, DescribedRow[]>()
      for (const kind of kinds) rowsByKind.set(kind, await listVisibleObjects(kind, offlineInput))
      return rowsByKind
    })

/** A stored row, and the representation that the API returns for it. */
export interface DescribedRow {
  row: { uid: string; name: string }
  resource: PresentedResource
}

export interface PresentedResource {
  access?: ObjectAccess
  [field: string]: unknown
}

/**
 * Returns the objects of a kind that the caller may see, sorted by name. Throws 422 if there are too many to export.
 */
async function listVisibleObjects(kind: ConfigurationKind, context: RequestContext): Promise<DescribedRow[]> {
  const { table, scope, noun } = kindAdapters[kind].bulkSave.records.definition
  const { rows } = await sql<DescribedRow['row']>`
    select r.* from ${sql.table(table)} as r where ${scope(context.caller, 'READ')}
    order by r.name, r.id limit ${maxConfiguredObjects + 1}`.execute(context.db)
  if (rows.length > maxConfiguredObjects)
    throw problems.refused(
      '/kinds',
      `You see more than ${maxConfiguredObjects.toLocaleString('en')} ${noun}s, which is more than a configuration can have. Leave them out with the parameter kinds, and read them with GET ${kindAdapters[kind].bulkSave.records.definition.path}.`,
    )
  return describeRows(kind, rows, context)
}

/** The number of rows that are presented at once, with one query for each kind of reference. */
const presentBatchSize = 1_000

/**
 * Returns rows of a kind with their API representations. Within a transaction, `context.identity` must be offline
 * (`offlineIdentity`), so that the transaction does not wait for another service.
 */
export async function describeRows(
  kind: ConfigurationKind,
  rows: readonly DescribedRow['row'][],
  context: RequestContext,
): Promise<DescribedRow[]> {
  const { present } = kindAdapters[kind].bulkSave.records.definition
  const described: DescribedRow[] = []
  for (let start = 0; start < rows.length; start += presentBatchSize) {
    const batch = rows.slice(start, start + presentBatchSize)
    const resources: PresentedResource[] = await present(batch, context)
    described.push(...batch.map((row, index) => ({ row, resource: resources[index]! })))
  }
  return described
}

/** Fields that an export omits if they are empty, because omitting them means the same. */
const optionalFields = ['translations', 'tags', 'labels', 'status', 'importOptions', 'transformation'] as const
const emptyJsonValues = new Set(['[]', '{}', '{"sqlStatements":[]}'])
const isEmptyValue = (value: unknown): boolean => emptyJsonValues.has(JSON.stringify(value))

/**
 * Returns an object in the form of the configuration document: the fields of its request body, with names instead of
 * ids, and the pointers of its secrets in `redacted`. Omits optional fields that are empty.
 */
export function toConfigurationObject(
  kind: ConfigurationKind,
  { row, resource }: DescribedRow,
  principals: KnownPrincipals,
  ring: KeyRing,
): ConfiguredObject {
  const object = pickFields(exportedKinds[kind], resource) as ConfiguredObject
  for (const field of optionalFields) if (isEmptyValue(object[field])) delete object[field]
  const redacted = Object.keys(readSecretsByPointer(kind, row, ring)).toSorted()
  return {
    ...object,
    ...(resource.access && { access: principals.nameAccess(resource.access) }),
    ...(redacted.length > 0 && { redacted }),
  }
}

interface FieldSchema {
  properties?: Record<string, FieldSchema>
  items?: FieldSchema
  anyOf?: FieldSchema[]
  oneOf?: FieldSchema[]
  const?: unknown
}

/**
 * Returns the schema with the fields of an object. In a `oneOf`, the field `type` selects it. An `anyOf` has one schema
 * with fields, and null.
 */
function findObjectSchema({ oneOf, anyOf, ...schema }: FieldSchema, object: Record<string, unknown>) {
  if (oneOf) return oneOf.find(({ properties }) => properties!['type']!.const === object['type'])
  if (anyOf) return anyOf.find(({ properties }) => properties !== undefined)
  return schema
}

/**
 * Returns the fields of a value that the schema describes. If the schema describes no fields, as for a free-form
 * payload, returns the whole value.
 */
function pickFields(schema: FieldSchema, value: unknown): unknown {
  if (Array.isArray(value)) return schema.items ? value.map((item) => pickFields(schema.items!, item)) : value
  if (typeof value !== 'object' || value === null) return value
  const object = value as Record<string, unknown>
  const fields = Object.entries(findObjectSchema(schema, object)?.properties ?? {})
  if (fields.length === 0) return value
  return Object.fromEntries(
    fields.flatMap(([name, field]) => (object[name] === undefined ? [] : [[name, pickFields(field, object[name])]])),
  )
}
