import { setTimeout as sleep } from 'node:timers/promises'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import type { DownloadedBody, HttpSession } from '../http-connector/http-session.ts'
import { parseRetryAfter } from '../http-connector/retry-policy.ts'
import { parseJson, maxRecordValues } from '../http-connector/exact-json.ts'
import type { SystemContext, RecordPage } from '../http-connector/http-system.ts'

export interface ExportRequest {
  /** Path of the FHIR API below the host. */
  prefix: string
  types: readonly string[]
  /** The number of reads of the export; it is deleted after the last one. */
  readings: number
  /** Exports only the members of this group; everything when absent. */
  group?: string | undefined
}

interface ExportManifest {
  transactionTime: string
  files: { type: string; url: string }[]
  needsToken: boolean
}

/** Maximum bytes of the manifest, which is kept in memory. */
const maxManifestBytes = 32_000_000

/** Seconds before the second status request, increased by half for each further one without a Retry-After; and the maximum. */
const [soonest, latest] = [2, 30]

/**
 * Bulk Data: the server prepares files of all types in one export, which are then read type by type. An increment requests
 * the changes since the last export.
 */
export function createBulkExport(
  { http, signal, log }: Pick<SystemContext, 'http' | 'signal' | 'log'>,
  asked: ExportRequest,
): (type: string, since?: string) => AsyncGenerator<RecordPage, void, void> {
  /** Exports by their start timestamp: types that had rejected resources continue from an earlier one. */
  const prepared = new Map<string | undefined, Promise<{ status: string; manifest: ExportManifest }>>()
  let left = asked.readings

  async function prepare(since: string | undefined) {
    const status = await startExport(http, asked, since)
    log('INFO', 'LOW', 'The server prepares an export.')
    const manifest = await waitForManifest(http, status, signal)
    log('INFO', 'LOW', `The export is ready: ${manifest.files.length} files, as of ${manifest.transactionTime}.`)
    return { status, manifest }
  }

  return async function* (type, since) {
    if (!prepared.has(since)) prepared.set(since, prepare(since))
    const { manifest } = await prepared.get(since)!
    for (const file of manifest.files.filter((one) => one.type === type)) {
      using body = await download(http, file.url, manifest.needsToken)
      for await (const records of resourceLines(body.chunks(), type)) yield { records }
    }
    yield { records: [], cursor: manifest.transactionTime }
    left -= 1
    // Servers keep export files for long unless they are deleted.
    if (left > 0) return
    for (const { status } of await Promise.all(prepared.values()))
      await http.download(status, { method: 'DELETE' }).then(
        (answer) => answer[Symbol.dispose](),
        () => {},
      )
  }
}

/** Starts an export and returns the URL of its status. */
async function startExport(
  http: HttpSession,
  { prefix, types, group }: ExportRequest,
  since: string | undefined,
): Promise<string> {
  const at = group === undefined ? '$export' : `Group/${encodeURIComponent(group)}/$export`
  using answer = await http.download(`${prefix}/${at}`, {
    query: { _type: types.join(), _since: since },
    headers: { prefer: 'respond-async' },
    subject: group === undefined ? 'The export of all data' : `The export of the group "${group}"`,
  })
  const status = answer.headers.get('content-location')
  if (status === null) throw createResponseProblem('FHIR', 'an address of the export (Content-Location)')
  return http.resolveLink(status)
}

/** Polls the status until the files are ready; before that, the response has no manifest. */
async function waitForManifest(http: HttpSession, status: string, signal: AbortSignal): Promise<ExportManifest> {
  for (let tried = 0; ; tried += 1) {
    using answer = await http.download(status, { subject: 'The export' })
    const found = await parseManifest(answer)
    if (found) return found
    const wanted = parseRetryAfter(answer.headers) ?? soonest * 1.5 ** tried
    const seconds = Math.min(latest, Math.max(wanted, 0.1))
    await sleep(seconds * 1000, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

async function parseManifest(answer: DownloadedBody): Promise<ExportManifest | undefined> {
  if (answer.size === 0 || answer.headers.has('x-progress')) return undefined
  if (answer.size > maxManifestBytes) throw tooManyFilesProblem()
  const chunks: Buffer[] = []
  for await (const chunk of answer.chunks()) chunks.push(Buffer.from(chunk))
  let said: unknown
  try {
    said = parseJson(Buffer.concat(chunks).toString())
  } catch (error) {
    if (error instanceof SourceProblem) throw error
    return undefined
  }
  const { transactionTime, requiresAccessToken, output } = said as Record<string, unknown>
  if (output === undefined) return undefined
  const time = toText(transactionTime)
  if (time === undefined) throw createResponseProblem('FHIR', 'a transactionTime in the export')
  const files = parseList(output, 'FHIR').map((one) => {
    const { type, url } = parseObject(one, 'FHIR')
    return { type: toText(type) ?? '', url: toText(url) ?? '' }
  })
  return { transactionTime: time, files, needsToken: requiresAccessToken === true }
}

const tooManyFilesProblem = (): SourceProblem =>
  new SourceProblem(
    'ANSWER_TOO_LARGE',
    'The list of files of the export is larger than 32 MB. Choose fewer types of resources, or load by search.',
  )

const invalidFileAddress = (said: string): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `The list of files of the export gives "${said.slice(0, 100)}" as the address of a file, and this is not a valid address. Check the public address in the settings of the server.`,
  )

/** Downloads a file. Files can be on another host, which gets no credentials. */
async function download(http: HttpSession, url: string, needsToken: boolean): Promise<DownloadedBody> {
  const headers = { accept: 'application/fhir+ndjson' }
  const place = URL.canParse(url, http.base) ? new URL(url, http.base) : undefined
  if (!place || !/^https?:$/.test(place.protocol)) throw invalidFileAddress(http.redactText(url))
  const { origin, hostname, pathname, search } = place
  if (hostname === new URL(http.base).hostname) return await http.download(http.resolveLink(url), { headers })
  if (needsToken)
    throw new SourceProblem(
      'REDIRECTED',
      `The files of the export wait at ${hostname}, which wants the token of this server: it is not sent there. Have the server give them out itself.`,
    )
  return await http.forOrigin(origin).download(`${pathname}${search}`, { headers })
}

/**
 * Limits of a batch: resources, and characters after which a batch is full, because they can contain a million values. The last one
 * is the maximum number of characters of one resource.
 */
const batch = 200
const mostInBatch = 4_000_000
const longest = 32_000_000

/**
 * Yields the resources of an NDJSON file, without their type. Throws `SourceProblem` OTHER_PROTOCOL for a line that is not a
 * resource, and ANSWER_TOO_LARGE for a resource with too many values.
 */
export async function* resourceLines(
  chunks: AsyncIterable<Buffer>,
  type: string,
): AsyncGenerator<unknown[], void, void> {
  const decoder = new TextDecoder()
  let records: unknown[] = []
  let characters = 0
  let rest = ''

  function take(line: string): void {
    if (line.trim() === '') return
    let resource: unknown
    try {
      resource = parseJson(line, maxRecordValues)
    } catch (error) {
      if (error instanceof SourceProblem) throw error
      throw createResponseProblem('FHIR', 'a resource in each line of its export')
    }
    if (typeof resource !== 'object' || resource === null)
      throw createResponseProblem('FHIR', 'a resource in each line of its export')
    const { resourceType, ...fields } = resource as Record<string, unknown>
    if (resourceType !== type) return
    records.push(fields)
    characters += line.length
  }

  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
    if (rest.length > longest) throw createResponseProblem('FHIR', 'an end of a line in its export')
    for (const line of lines) {
      take(line)
      if (records.length < batch && characters < mostInBatch) continue
      yield records
      records = []
      characters = 0
    }
  }
  take(rest + decoder.decode())
  if (records.length > 0) yield records
}
