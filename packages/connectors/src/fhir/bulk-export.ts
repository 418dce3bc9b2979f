import { setTimeout as sleep } from 'node:timers/promises'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import type { DownloadedBody, HttpSession } from '../http-connector/http-session.ts'
import { parseRetryAfter } from '@sluice/http-client'
import { parseJson, maxRecordValues } from '../http-connector/exact-json.ts'
import type { SystemContext, RecordPage } from '../http-connector/http-system.ts'

export interface ExportRequest {
  /** The path of the FHIR API on its host. */
  prefix: string
  types: readonly string[]
  /** The number of streams that read the export. After the last one, the export is deleted. */
  streamCount: number
  /** The id of the group to export. Default: all data. */
  group?: string | undefined
}

interface ExportManifest {
  transactionTime: string
  files: { type: string; url: string }[]
  needsToken: boolean
}

/** The maximum bytes of the export's manifest, which is read into memory. */
const maxManifestBytes = 32_000_000

/**
 * Seconds between the first two status requests. If a response has no Retry-After header, each delay is 1.5 times the
 * previous one.
 */
const firstPollDelay = 2
const pollDelayFactor = 1.5
/** The limits of a delay in seconds. */
const minPollDelay = 0.1
const maxPollDelay = 30

/**
 * Returns a function that reads one resource type through the FHIR Bulk Data API: all resources, or the changes since a
 * timestamp. The first call with a timestamp, or without one, makes the server export files of all types; later calls
 * with the same timestamp share these files. The last of `streamCount` reads deletes them.
 */
export function createBulkExport(
  { http, signal, log }: Pick<SystemContext, 'http' | 'signal' | 'log'>,
  request: ExportRequest,
): (type: string, since?: string) => AsyncGenerator<RecordPage, void, void> {
  /** Types can have different timestamps: a type with rejected resources starts earlier, to read these again. */
  const exportsBySince = new Map<string | undefined, Promise<{ statusPath: string; manifest: ExportManifest }>>()
  let unreadStreams = request.streamCount

  async function prepareExport(since: string | undefined) {
    const statusPath = await startExport(http, request, since)
    log('INFO', 'LOW', 'The server is preparing the export.')
    const manifest = await waitForManifest(http, statusPath, signal)
    log('INFO', 'LOW', `The export is ready: ${manifest.files.length} files, as of ${manifest.transactionTime}.`)
    return { statusPath, manifest }
  }

  return async function* (type, since) {
    if (!exportsBySince.has(since)) exportsBySince.set(since, prepareExport(since))
    const { manifest } = await exportsBySince.get(since)!
    for (const file of manifest.files.filter((item) => item.type === type)) {
      using body = await downloadFile(http, file.url, manifest.needsToken)
      for await (const records of readResourceLines(body.chunks(), type)) yield { records }
    }
    yield { records: [], cursor: manifest.transactionTime }
    unreadStreams -= 1
    if (unreadStreams > 0) return
    // Servers otherwise keep the files for a long time.
    for (const { statusPath } of await Promise.all(exportsBySince.values())) await deleteExport(http, statusPath)
  }
}

/** Deletes an export. Ignores errors, because all files have been read. */
async function deleteExport(http: HttpSession, statusPath: string): Promise<void> {
  try {
    using _response = await http.download(statusPath, { method: 'DELETE' })
  } catch {}
}

/** Starts an export. Returns the path for requesting its status. */
async function startExport(
  http: HttpSession,
  { prefix, types, group }: ExportRequest,
  since: string | undefined,
): Promise<string> {
  const operation = group === undefined ? '$export' : `Group/${encodeURIComponent(group)}/$export`
  using response = await http.download(`${prefix}/${operation}`, {
    query: { _type: types.join(), _since: since },
    headers: { prefer: 'respond-async' },
    subject: group === undefined ? 'The export of all data' : `The export of the group "${group}"`,
  })
  const location = response.headers.get('content-location')
  if (location === null) throw createResponseProblem('FHIR', 'address of the export (Content-Location)')
  return http.resolveLink(location)
}

/**
 * Requests the status of an export until it is ready, and returns its manifest. Waits between requests for the seconds
 * in the header Retry-After, or otherwise longer after each request.
 */
async function waitForManifest(http: HttpSession, statusPath: string, signal: AbortSignal): Promise<ExportManifest> {
  for (let attempt = 0; ; attempt += 1) {
    using response = await http.download(statusPath, { subject: 'The export' })
    const manifest = await parseManifest(response)
    if (manifest) return manifest
    const delay = parseRetryAfter(response.headers) ?? firstPollDelay * pollDelayFactor ** attempt
    const seconds = Math.min(maxPollDelay, Math.max(delay, minPollDelay))
    // Throws the reason of an abort instead of the error of `sleep`.
    await sleep(seconds * 1000, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/**
 * Returns the list of exported files from a status response, or undefined if the export is not ready. Throws
 * `SourceProblem` if the list is larger than 32 MB, or has no transaction time.
 */
async function parseManifest(response: DownloadedBody): Promise<ExportManifest | undefined> {
  const isInProgress = response.size === 0 || response.headers.has('x-progress')
  if (isInProgress) return undefined
  if (response.size > maxManifestBytes)
    throw new SourceProblem(
      'ANSWER_TOO_LARGE',
      'The list of files of the export is larger than 32 MB. Select fewer types of resources, or choose the method SEARCH.',
    )
  const chunks: Buffer[] = []
  for await (const chunk of response.chunks()) chunks.push(Buffer.from(chunk))
  let manifest: unknown
  try {
    manifest = parseJson(Buffer.concat(chunks).toString())
  } catch (error) {
    if (error instanceof SourceProblem) throw error
    // The response describes the progress in a format other than JSON.
    return undefined
  }
  const { transactionTime, requiresAccessToken, output } = manifest as Record<string, unknown>
  if (output === undefined) return undefined
  const time = toText(transactionTime)
  if (time === undefined) throw createResponseProblem('FHIR', 'transactionTime in the export')
  const files = parseList(output, 'FHIR').map((file) => {
    const { type, url } = parseObject(file, 'FHIR')
    return { type: toText(type) ?? '', url: toText(url) ?? '' }
  })
  return { transactionTime: time, files, needsToken: requiresAccessToken === true }
}

/**
 * Downloads an exported file. A file on another host is requested without credentials. Throws `SourceProblem` if such a
 * file needs the access token.
 */
async function downloadFile(http: HttpSession, url: string, needsToken: boolean): Promise<DownloadedBody> {
  const headers = { accept: 'application/fhir+ndjson' }
  const address = URL.canParse(url, http.base) ? new URL(url, http.base) : undefined
  if (!address || !/^https?:$/.test(address.protocol))
    throw new SourceProblem(
      'OTHER_PROTOCOL',
      `The list of files of the export contains the invalid file address "${http.redactText(url).slice(0, 100)}". Correct the public address in the settings of the server.`,
    )
  const { origin, hostname, pathname, search } = address
  if (hostname === new URL(http.base).hostname) return await http.download(http.resolveLink(url), { headers })
  if (needsToken)
    throw new SourceProblem(
      'REDIRECTED',
      `The files of the export are at ${hostname}, which is another host, so Sluice does not send the token to it. Configure the server to serve the files itself, or choose the method SEARCH.`,
    )
  return await http.createPublicSession(origin).download(`${pathname}${search}`, { headers })
}

/**
 * The maximum resources and characters of a batch. A limit on the number alone is not enough, because one resource can
 * contain a million values.
 */
const maxBatchResources = 200
const maxBatchLength = 4_000_000
/** The maximum characters of a resource. */
const maxResourceLength = 32_000_000

/**
 * Parses an NDJSON file and yields its resources of one type, without the field `resourceType`. Throws `SourceProblem`
 * OTHER_PROTOCOL for a line that is not a resource, and ANSWER_TOO_LARGE for a resource with too many values.
 */
export async function* readResourceLines(
  chunks: AsyncIterable<Buffer>,
  type: string,
): AsyncGenerator<unknown[], void, void> {
  const decoder = new TextDecoder()
  let records: unknown[] = []
  let batchLength = 0
  let incompleteLine = ''

  function addLine(line: string): void {
    if (line.trim() === '') return
    const { resourceType, ...fields } = parseResource(line)
    if (resourceType !== type) return
    records.push(fields)
    batchLength += line.length
  }

  for await (const chunk of chunks) {
    const lines = (incompleteLine + decoder.decode(chunk, { stream: true })).split('\n')
    incompleteLine = lines.pop()!
    if (incompleteLine.length > maxResourceLength) throw createResponseProblem('FHIR', 'end of a line in its export')
    for (const line of lines) {
      addLine(line)
      if (records.length < maxBatchResources && batchLength < maxBatchLength) continue
      yield records
      records = []
      batchLength = 0
    }
  }
  addLine(incompleteLine + decoder.decode())
  if (records.length > 0) yield records
}

/**
 * Parses a line of an export file. Throws `SourceProblem` OTHER_PROTOCOL if it is not a JSON object, and the problem of
 * `parseJson` if it is too large.
 */
function parseResource(line: string): Record<string, unknown> {
  let resource: unknown
  try {
    resource = parseJson(line, maxRecordValues)
  } catch (error) {
    if (error instanceof SourceProblem) throw error
  }
  if (typeof resource === 'object' && resource !== null) return resource as Record<string, unknown>
  throw createResponseProblem('FHIR', 'resource in each line of its export')
}
