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
  // If the body has any secret, its secrets replace all stored ones.
  const newSecrets = selectSentSecrets(sentSecrets)
  const { jdbcSource, functionSource, spreadsheetSource, objectStoreSource, blobStoreSource } = body
  const nestedSources = [jdbcSource, functionSource, spreadsheetSource, objectStoreSource, blobStoreSource]
  const hasNestedSource = nestedSources.some((nestedSource) => nestedSource)
  // A body without a nested source has the address at its top level.
  const pointer = hasNestedSource ? undefined : '/url'
  const mergedSecrets =
    Object.keys(newSecrets).length > 0
      ? { secrets: newSecrets }
      : mergeSourceSecrets(definition, row, settings, sentSecrets, keyRing, { pointer })
  return listChoices(input, params.kind, { type: row.type, settings, ...mergedSecrets, input: {} })
}

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
  const url = sentSource.url ?? (stored.apiSource ?? stored.spreadsheetSource)?.url
  const source = buildSourceBody(type, { ...sentSource, ...(url !== undefined && { url }) })
  const merged = mergedFields
    .filter((field) => field in source)
    .map((field) => [field, { ...stored[field], ...(source as Partial<Record<MergedField, object>>)[field] }])
  return { ...stored, ...source, ...Object.fromEntries(merged) } as SourceBody
}

/** The connection objects in which an omitted field keeps its stored value. */
const mergedFields = ['apiSource', 'objectStoreSource', 'blobStoreSource'] as const
type MergedField = (typeof mergedFields)[number]

/** Returns a source body that has only the address and the credentials. Throws 422 if the body lacks the address. */
function buildSourceBody(type: string, body: SourceLookupBody): SourceBody {
  const { jdbcSource, functionSource, spreadsheetSource, objectStoreSource, blobStoreSource, restApi, ...rest } = body
  const { query: _query, within: _within, ...topLevelFields } = rest
  if (type === connectorTypes.publicDataset) return { type } as SourceBody
  const fieldsOfType: readonly string[] = pipelineVariants.find((variant) => variant.type === type)?.ownFields ?? []
  if (fieldsOfType.includes('jdbcSource')) {
    if (!jdbcSource) throw problems.refused('/jdbcSource', 'Set the address of the database and the credentials.')
    return { type, jdbcSource } as SourceBody
  }
  for (const [field, store] of Object.entries({ objectStoreSource, blobStoreSource })) {
    if (!fieldsOfType.includes(field)) continue
    if (!store) throw problems.refused(`/${field}`, 'Set the account, the bucket (or container) and the credentials.')
    return { type, [field]: store } as SourceBody
  }
  // Lookups accept the nested fields of a pipeline body, and the same fields without nesting.
  const sources = {
    apiSource: topLevelFields,
    functionSource: functionSource ?? topLevelFields,
    spreadsheetSource: spreadsheetSource ?? topLevelFields,
  }
  const sourceField = (['apiSource', 'functionSource', 'spreadsheetSource'] as const).find((field) =>
    fieldsOfType.includes(field),
  )
  if (!sourceField) throw problems.notFound('look-up')
  // A function source has no address that the body must contain: all AWS functions share one.
  if (sources[sourceField].url === undefined && !functionSource)
    throw problems.refused('/url', 'Set the address of the system and the credentials.')
  const isRestApi = restApi !== undefined && fieldsOfType.includes('restApi')
  return { type, [sourceField]: sources[sourceField], ...(isRestApi && { restApi }) } as SourceBody
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
  const options = await withVariables(input, reading, (filledReading) =>
    runWhileConnected(
      { request, queue: requestSlots.lookups.queueOf(caller.client), timeoutMs: lookupTimeoutMs, onTimeout },
      (signal) =>
        sources.listOptions(kind, { ...filledReading, query: body.query?.trim(), within: body.within }, signal),
    ),
  )
  if (!options) throw problems.notFound('look-up')
  const searchText = body.query?.trim().toLowerCase() ?? ''
  return options
    .filter(({ id, code, name }) => [id, code, name].some((text) => text.toLowerCase().includes(searchText)))
    .slice(0, maxResults)
    .map(({ id, code, name }) => ({
      id: id.slice(0, maxKeyLength),
      code: code.slice(0, 300),
      name: name.slice(0, 300),
    }))
}
