import { pipelineVariants, type LookedUp, type SourceBody, type SourceLookupBody } from '@sluice/contracts'
import { problems, type Input } from '@sluice/http'
import type { PipelineContext } from '../operation.ts'
import { dataPipelines } from './records.ts'
import type { DataPipelineRow } from './records.ts'
import { mergeSourceSecrets, definedSecrets } from './source-columns.ts'
import { type RequestedSource, savedSource } from './requested-source.ts'
import { withVariables } from './requested-source.ts'
import { findKind } from './types/registry.ts'
import { shares } from '../shares.ts'
import { whileConnected } from './while-connected.ts'

type SourceLookupRequest = Input<PipelineContext, '/lookups/:type/:kind', undefined, SourceLookupBody>
type SavedLookupRequest = Input<PipelineContext, '/data-pipelines/:uid/lookups/:kind', undefined, SourceLookupBody>

/** Milliseconds, and what fits on a page. */
const longest = 30_000
const mostAnswered = 1_000

/** What a source has to choose from that may not be saved yet. */
export async function lookUp(input: SourceLookupRequest): Promise<LookedUp[]> {
  const { type, kind } = input.params
  const found = findKind(type)
  if (!found?.checkConnection) throw problems.notFound('look-up')
  const body = sourceBodyOf(type, input.body)
  found.checkConnection(body)
  return answer(input, kind, {
    type,
    settings: found.settings(body),
    secrets: definedSecrets(found.secrets(body)),
    input: {},
  })
}

/** The same for a pipeline; what is absent is what it has stored. That takes a right to change it. */
export async function lookUpSaved(input: SavedLookupRequest): Promise<LookedUp[]> {
  const { db, caller, params, body, keyRing } = input
  const row = await dataPipelines.readToWrite(db, caller, params.uid, undefined)
  const kind = findKind(row.type)
  if (!kind?.checkConnection) throw problems.notFound('look-up')
  const source = typedInto(row, body)
  if (!source) return answer(input, params.kind, await savedSource(input, row))
  kind.checkConnection(source)
  const settings = kind.settings(source)
  const given = kind.secrets(source)
  // What is typed takes the place of whatever is stored.
  const typed = definedSecrets(given)
  const pointer = (body.jdbcSource ?? body.functionSource ?? body.spreadsheetSource) ? undefined : '/url'
  const sent =
    Object.keys(typed).length > 0
      ? { secrets: typed }
      : mergeSourceSecrets(kind, row, settings, given, keyRing, { pointer })
  return answer(input, params.kind, { type: row.type, settings, ...sent, input: {} })
}

/** A pipeline's source with what was typed in the place of what is stored. Undefined where nothing was. */
function typedInto({ type, settings }: DataPipelineRow, body: SourceLookupBody): SourceBody | undefined {
  const { query: _, within: __, ...typed } = body
  if (Object.keys(typed).length === 0) return undefined
  const stored = settings as { apiSource?: { url: string }; spreadsheetSource?: { url: string } }
  const url = typed.url ?? (stored.apiSource ?? stored.spreadsheetSource)?.url
  const source = sourceBodyOf(type, { ...typed, ...(url !== undefined && { url }) })
  const apiSource = 'apiSource' in source && { apiSource: { ...stored.apiSource, ...source.apiSource } }
  return { ...stored, ...source, ...apiSource } as SourceBody
}

/** Where a source is, as its type has it, with nothing of what is to be loaded. */
function sourceBodyOf(type: string, body: SourceLookupBody): SourceBody {
  const { jdbcSource, functionSource, spreadsheetSource, query: _, within: __, ...flat } = body
  const own: readonly string[] = pipelineVariants.find((variant) => variant.type === type)?.own ?? []
  if (own.includes('jdbcSource')) {
    if (!jdbcSource) throw problems.refused('/jdbcSource', 'Say where the database is, and who asks it.')
    return { type, jdbcSource } as SourceBody
  }
  // As pipelines have it, or flat as the interface has look-ups.
  const given = {
    apiSource: flat,
    functionSource: functionSource ?? flat,
    spreadsheetSource: spreadsheetSource ?? flat,
  }
  const place = (['apiSource', 'functionSource', 'spreadsheetSource'] as const).find((field) => own.includes(field))
  if (!place) throw problems.notFound('look-up')
  // AWS is where it is, whichever function will be chosen, and its keys may be stored.
  if (given[place].url === undefined && !functionSource)
    throw problems.refused('/url', 'Say where the system is, and who asks it.')
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
      (signal) => sources.lookup(kind, { ...ready, query: body.query?.trim(), within: body.within }, signal),
    ),
  )
  if (!found) throw problems.notFound('look-up')
  const wanted = body.query?.trim().toLowerCase() ?? ''
  return found
    .filter(({ id, code, name }) => [id, code, name].some((text) => text.toLowerCase().includes(wanted)))
    .slice(0, mostAnswered)
    .map(({ id, code, name }) => ({ id: id.slice(0, 600), code: code.slice(0, 300), name: name.slice(0, 300) }))
}
