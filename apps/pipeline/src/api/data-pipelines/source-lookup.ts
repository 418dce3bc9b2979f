import { pipelineVariants, type LookedUp, type SourceBody, type SourceLookupBody } from '@sluice/contracts'
import { problems, type OperationInput } from '@sluice/http-server'
import type { PipelineContext } from '../operation.ts'
import { type DataPipelineRow, dataPipelines } from './records.ts'
import { type RequestedSource, mergeSourceSecrets, savedSource, withVariables } from './pipeline-source.ts'
import { definedSecrets } from '../merge-secrets.ts'
import { findDefinition } from '@sluice/connectors/registry/definitions'
import { shares } from '../shares.ts'
import { whileConnected } from '../while-connected.ts'

type SourceLookupRequest = OperationInput<PipelineContext, '/lookups/:type/:kind', undefined, SourceLookupBody>
type SavedLookupRequest = OperationInput<
  PipelineContext,
  '/data-pipelines/:uid/lookups/:kind',
  undefined,
  SourceLookupBody
>

/** The time limit of the source in milliseconds, and the maximum number of results. */
const longest = 30_000
const mostAnswered = 1_000

/** Lists the choices that a source offers. The source may not be saved yet. */
export async function lookUp(input: SourceLookupRequest): Promise<LookedUp[]> {
  const { type, kind } = input.params
  const found = findDefinition(type)
  if (!found?.assertConnection) throw problems.notFound('look-up')
  const body = sourceBodyOf(type, input.body)
  found.assertConnection(body)
  return answer(input, kind, {
    type,
    settings: found.getSettings(body),
    secrets: definedSecrets(found.getSecrets?.(body) ?? {}),
    input: {},
  })
}

/** Lists the choices that the source of a pipeline offers. Stored values replace absent ones, which takes the right to change the pipeline. */
export async function lookUpSaved(input: SavedLookupRequest): Promise<LookedUp[]> {
  const { db, caller, params, body, keyRing } = input
  const row = await dataPipelines.readToWrite(db, caller, params.uid, undefined)
  const definition = findDefinition(row.type)
  if (!definition?.assertConnection) throw problems.notFound('look-up')
  const source = typedInto(row, body)
  if (!source) return answer(input, params.kind, await savedSource(input, row))
  definition.assertConnection(source)
  const settings = definition.getSettings(source)
  const given = definition.getSecrets?.(source) ?? {}
  // Values of the body override stored ones.
  const typed = definedSecrets(given)
  const pointer = (body.jdbcSource ?? body.functionSource ?? body.spreadsheetSource) ? undefined : '/url'
  const sent =
    Object.keys(typed).length > 0
      ? { secrets: typed }
      : mergeSourceSecrets(definition, row, settings, given, keyRing, { pointer })
  return answer(input, params.kind, { type: row.type, settings, ...sent, input: {} })
}

/** Merges the body into the stored source. Undefined for an empty body. */
function typedInto({ type, settings }: DataPipelineRow, body: SourceLookupBody): SourceBody | undefined {
  const { query: _, within: __, ...typed } = body
  if (Object.keys(typed).length === 0) return undefined
  const stored = settings as { apiSource?: { url: string }; spreadsheetSource?: { url: string } }
  const url = typed.url ?? (stored.apiSource ?? stored.spreadsheetSource)?.url
  const source = sourceBodyOf(type, { ...typed, ...(url !== undefined && { url }) })
  const apiSource = 'apiSource' in source && { apiSource: { ...stored.apiSource, ...source.apiSource } }
  return { ...stored, ...source, ...apiSource } as SourceBody
}

/** Returns a source body with the address and credentials only. */
function sourceBodyOf(type: string, body: SourceLookupBody): SourceBody {
  const { jdbcSource, functionSource, spreadsheetSource, query: _, within: __, ...flat } = body
  const own: readonly string[] = pipelineVariants.find((variant) => variant.type === type)?.own ?? []
  if (own.includes('jdbcSource')) {
    if (!jdbcSource) throw problems.refused('/jdbcSource', 'Give the address of the database and the credentials.')
    return { type, jdbcSource } as SourceBody
  }
  // Look-ups accept the nested form of pipelines, and a flat form.
  const given = {
    apiSource: flat,
    functionSource: functionSource ?? flat,
    spreadsheetSource: spreadsheetSource ?? flat,
  }
  const place = (['apiSource', 'functionSource', 'spreadsheetSource'] as const).find((field) => own.includes(field))
  if (!place) throw problems.notFound('look-up')
  // The address of AWS does not depend on the function, so stored keys may be used.
  if (given[place].url === undefined && !functionSource)
    throw problems.refused('/url', 'Give the address of the system and the credentials.')
  return { type, [place]: given[place] } as SourceBody
}

async function answer(
  input: Pick<SavedLookupRequest, 'sources' | 'caller' | 'body' | 'request' | 'db' | 'keyRing'>,
  kind: string,
  reading: RequestedSource,
): Promise<LookedUp[]> {
  const { sources, caller, body, request } = input
  const late = () => {
    throw problems.refused('/', `The source did not answer in full within ${longest / 1000} seconds.`)
  }
  const found = await withVariables(input, reading, (ready) =>
    whileConnected(
      { socket: request.stream.socket, queue: shares.lookups.queueOf(caller.client), longest, late },
      (signal) => sources.listOptions(kind, { ...ready, query: body.query?.trim(), within: body.within }, signal),
    ),
  )
  if (!found) throw problems.notFound('look-up')
  const wanted = body.query?.trim().toLowerCase() ?? ''
  return found
    .filter(({ id, code, name }) => [id, code, name].some((text) => text.toLowerCase().includes(wanted)))
    .slice(0, mostAnswered)
    .map(({ id, code, name }) => ({ id: id.slice(0, 600), code: code.slice(0, 300), name: name.slice(0, 300) }))
}
