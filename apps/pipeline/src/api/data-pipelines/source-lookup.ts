import {
  connectorTypes,
  maxKeyLength,
  pipelineVariants,
  type LookedUp,
  type SourceBody,
  type SourceLookupBody,
} from '@sluice/contracts'
import { problems, type OperationInput } from '@sluice/http-server'
import type { PipelineContext } from '../operation-context.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'
import { type RequestedSource, mergeSourceSecrets, readSavedSource, withVariables } from './pipeline-source.ts'
import { selectSentSecrets } from '../merge-secrets.ts'
import { type AnyDefinition, findDefinition } from '@sluice/connectors/registry/connector-definitions'
import { requestSlots } from '../concurrency-limits.ts'
import { runWhileConnected } from '../abort-on-disconnect.ts'

type SourceLookupRequest = OperationInput<PipelineContext, '/lookups/:type/:kind', undefined, SourceLookupBody>
type SavedLookupRequest = OperationInput<
  PipelineContext,
  '/data-pipelines/:uid/lookups/:kind',
  undefined,
  SourceLookupBody
>

/** The timeout for the source in milliseconds, and the maximum number of results. */
const lookupTimeoutMs = 30_000
const maxResults = 1_000

/**
 * Lists the choices that a source offers for a setting, such as its forms or tables, even if the source is not saved
 * yet.
 */
export async function lookUp(input: SourceLookupRequest): Promise<LookedUp[]> {
  const { type, kind } = input.params
  const definition = findDefinition(type)
  // Only sources with a connection have choices.
  if (!definition?.assertConnection) throw problems.notFound('look-up')
  const body = buildSourceBody(type, input.body)
  assertLookup(definition, body, kind)
  return listChoices(input, kind, {
    type,
    settings: definition.getSettings(body),
    secrets: selectSentSecrets(definition.getSecrets?.(body) ?? {}),
    input: {},
  })
}

/**
 * Lists the choices that the source of a pipeline offers for a setting. Omitted fields are taken from the stored source
 * with its secrets, so the caller must be allowed to change the pipeline.
 */
export async function lookUpSaved(input: SavedLookupRequest): Promise<LookedUp[]> {
  const { db, caller, params, body, keyRing } = input
  const row = await dataPipelines.readToWrite(db, caller, params.uid, undefined)
  const definition = findDefinition(row.type)
  // Only sources with a connection have choices.
  if (!definition?.assertConnection) throw problems.notFound('look-up')
  const source = mergeIntoStored(row, body)
  if (!source) return listChoices(input, params.kind, await readSavedSource(input, row))
  assertLookup(definition, source, params.kind)
  const settings = definition.getSettings(source)
  const sentSecrets = definition.getSecrets?.(source) ?? {}
  const newSecrets = selectSentSecrets(sentSecrets)
  const hasNewSecret = Object.keys(newSecrets).length > 0
  const pointer = hasNestedSource(body) ? undefined : topLevelAddressPointer
  // If the body has any secret, its secrets replace all stored ones.
  const usedSecrets = hasNewSecret
    ? { secrets: newSecrets }
    : mergeSourceSecrets(definition, row, settings, sentSecrets, keyRing, { pointer })
  return listChoices(input, params.kind, { type: row.type, settings, ...usedSecrets, input: {} })
}

/** A body without a nested source has the address at its top level. */
const topLevelAddressPointer = '/url'

const nestedSourceFields = [
  'jdbcSource',
  'functionSource',
  'spreadsheetSource',
  'objectStoreSource',
  'blobStoreSource',
] as const

const hasNestedSource = (body: SourceLookupBody): boolean => nestedSourceFields.some((field) => Boolean(body[field]))

function assertLookup({ assertLookup, assertConnection }: AnyDefinition, source: SourceBody, kind: string): void {
  if (assertLookup) assertLookup(source as never, kind)
  else assertConnection?.(source as never)
}

/**
 * Merges the request body into the stored source. The fields of the body override the stored ones, also within nested
 * sources. Returns undefined for an empty body.
 */
function mergeIntoStored({ type, settings }: DataPipelineRow, body: SourceLookupBody): SourceBody | undefined {
  const { query: _query, within: _within, ...sentSource } = body
  if (Object.keys(sentSource).length === 0) return undefined
  const stored = settings as Partial<Record<MergedField, { url?: string }>> & { spreadsheetSource?: { url: string } }
  const storedUrl = (stored.apiSource ?? stored.spreadsheetSource)?.url
  const url = sentSource.url ?? storedUrl
  const source = buildSourceBody(type, { ...sentSource, ...(url !== undefined && { url }) })
  const sentSources = source as Partial<Record<MergedField, object>>
  const mergedSources = mergedFields
    .filter((field) => field in source)
    .map((field) => [field, { ...stored[field], ...sentSources[field] }])
  return { ...stored, ...source, ...Object.fromEntries(mergedSources) } as SourceBody
}

/** The nested sources in which an omitted field keeps its stored value. */
const mergedFields = ['apiSource', 'objectStoreSource', 'blobStoreSource'] as const
type MergedField = (typeof mergedFields)[number]

/** Returns a source body that has only the address and the credentials. Throws 422 if the body lacks the address. */
function buildSourceBody(type: string, body: SourceLookupBody): SourceBody {
  if (type === connectorTypes.publicDataset) return { type } as SourceBody
  const fieldsOfType: readonly string[] = pipelineVariants.find((variant) => variant.type === type)?.ownFields ?? []
  const nestedField = Object.keys(adviceOfRequiredFields).find((field) => fieldsOfType.includes(field))
  if (nestedField === undefined) return buildHttpSourceBody(type, fieldsOfType, body)
  const { [nestedField as RequiredField]: nestedSource } = body
  if (!nestedSource) throw problems.refused(`/${nestedField}`, adviceOfRequiredFields[nestedField as RequiredField])
  return { type, [nestedField]: nestedSource } as SourceBody
}

const storeAdvice = 'Set the account, the bucket (or container) and the credentials.'

/** The nested sources without which a body lacks the address, with the advice for such a body. */
const adviceOfRequiredFields = {
  jdbcSource: 'Set the address of the database and the credentials.',
  objectStoreSource: storeAdvice,
  blobStoreSource: storeAdvice,
}
type RequiredField = keyof typeof adviceOfRequiredFields

const httpSourceFields = ['apiSource', 'functionSource', 'spreadsheetSource'] as const

/**
 * Returns the body of a source that is read over HTTP. Its fields may be nested, as in a pipeline body, or at the top
 * level of the lookup's body.
 */
function buildHttpSourceBody(type: string, fieldsOfType: readonly string[], body: SourceLookupBody): SourceBody {
  const sourceField = httpSourceFields.find((field) => fieldsOfType.includes(field))
  if (!sourceField) throw problems.notFound('look-up')
  const { query: _query, within: _within, restApi, functionSource, spreadsheetSource, ...rest } = body
  const { jdbcSource: _database, objectStoreSource: _bucket, blobStoreSource: _container, ...topLevelFields } = rest
  const nestedSources = { apiSource: undefined, functionSource, spreadsheetSource }
  const source = nestedSources[sourceField] ?? topLevelFields
  // A function source has no address that the body must contain: all AWS functions share one.
  if (source.url === undefined && !functionSource)
    throw problems.refused('/url', 'Set the address of the system and the credentials.')
  const isRestApi = restApi !== undefined && fieldsOfType.includes('restApi')
  return { type, [sourceField]: source, ...(isRestApi && { restApi }) } as SourceBody
}

/** Lists the choices of a source for a setting (`kind`). Filters them by the search text in the body. */
async function listChoices(
  input: Pick<SavedLookupRequest, 'sources' | 'caller' | 'body' | 'request' | 'db' | 'keyRing'>,
  kind: string,
  reading: RequestedSource,
): Promise<LookedUp[]> {
  const { sources, caller, body, request } = input
  const onTimeout = () => {
    throw problems.refused('/', `The source did not answer within ${lookupTimeoutMs / 1000} seconds. Try again later.`)
  }
  const queue = requestSlots.lookups.queueOf(caller.client)
  const query = body.query?.trim()
  const options = await withVariables(input, reading, (filledReading) =>
    runWhileConnected({ request, queue, timeoutMs: lookupTimeoutMs, onTimeout }, (signal) =>
      sources.listOptions(kind, { ...filledReading, query, within: body.within }, signal),
    ),
  )
  if (!options) throw problems.notFound('look-up')
  // Sources may ignore the search text.
  const searchText = query?.toLowerCase() ?? ''
  return options
    .filter(({ id, code, name }) => [id, code, name].some((text) => text.toLowerCase().includes(searchText)))
    .slice(0, maxResults)
    .map(({ id, code, name }) => ({
      id: id.slice(0, maxKeyLength),
      code: code.slice(0, 300),
      name: name.slice(0, 300),
    }))
}
