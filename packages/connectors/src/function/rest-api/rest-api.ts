import type { KnownColumn } from '../../http-connector/declared-column.ts'
import { formatBasicAuthorization, type HttpConnection } from '../../http-connector/http-session.ts'
import type { HttpSystem, RecordPage, RecordStream } from '../../http-connector/http-system.ts'
import { createOption } from '../../http-connector/parse-response.ts'
import { formatCount, SourceProblem } from '@sluice/row-stream'
import type { SourceOption, SourceSecrets } from '../../connector.ts'
import { listArrayPaths, listFieldPaths } from './json-path.ts'
import { createChosenCursor, type RestCursor, type RestIncrement, startIncrement } from './rest-increment.ts'
import { createPager, type RestPager } from './rest-paging.ts'
import { readRecords } from './rest-records.ts'
import {
  createLinkedRequest,
  createRequest,
  type RestApiSettings,
  type RestContext,
  type RestRequest,
  type RestResponse,
  type RestSettings,
  sendRequest,
} from './rest-request.ts'

/** Reads the records of any REST API that returns JSON. The settings describe the API. */
export const restApi: HttpSystem<RestSettings> = {
  name: 'the API',
  canReadIncrement: (settings) => settings.restApi.increment !== undefined,
  createCursor: (moment, { restApi: { increment } }) => increment && createChosenCursor(increment, moment),
  connect: ({ functionSource }, secrets) => connectToApi(functionSource, secrets),

  async testConnection(context) {
    const { paging, increment } = context.settings.restApi
    const pager = createPager(paging)
    const { response, records } = await requestFirstPage(context)
    pager.findNext(response, records)
    if (!increment) return
    // Throws if the records do not have usable cursor values.
    const testIncrement = startIncrement(increment, undefined, context.http.redactText)
    testIncrement.addRecords(records)
    testIncrement.finish(context.http.startedAt())
  },

  listOptions(kind, context) {
    if (kind === 'record-paths') return listRecordPaths(context)
    return kind === 'fields' ? listFields(context) : undefined
  },

  openStreams: async (context) => createStream(context),
}

/**
 * Returns the connection to the origin of the address, because links to next pages may have any path. A token is sent
 * in the configured header, with the username as basic authentication, or else as a bearer token. A token that is a
 * query parameter is added to each request instead.
 */
function connectToApi(
  { url = '', username, headerName, parameterName }: RestSettings['functionSource'],
  { authToken }: SourceSecrets,
): HttpConnection {
  const origin = URL.canParse(url) ? new URL(url).origin : url
  if (!authToken || parameterName !== undefined) return { url: origin }
  if (headerName !== undefined) return { url: origin, headers: { [headerName.toLowerCase()]: authToken } }
  const authorization = username === undefined ? `Bearer ${authToken}` : formatBasicAuthorization(username, authToken)
  return { url: origin, headers: { authorization } }
}

/**
 * Returns the stream of the API's records. After a read, `unreadWarning` is its warning about records that were not
 * read.
 */
function createStream(context: RestContext): RecordStream {
  const { key = [], columns = [], paging } = context.settings.restApi
  let currentPager: RestPager | undefined
  return {
    name: 'records',
    key,
    columns: columns.map(
      ({ name, type }): KnownColumn => ({ path: name, isAlwaysCreated: true, ...(type && { dataType: type }) }),
    ),
    get unreadWarning() {
      return currentPager?.findWarning()
    },
    readPages(cursor) {
      // A stream that is read again starts at the first page.
      currentPager = createPager(paging)
      return readPages(context, currentPager, cursor as RestCursor | undefined)
    },
  }
}

/**
 * Yields the records of each page. The last page has the cursor of the next increment, if the settings have increments.
 * Logs a warning if records had no value in the cursor field.
 */
async function* readPages(
  context: RestContext,
  pager: RestPager,
  cursor: RestCursor | undefined,
): AsyncGenerator<RecordPage, void, void> {
  const { http, settings, log } = context
  const { increment: incrementSettings } = settings.restApi
  const increment = incrementSettings && startIncrement(incrementSettings, cursor, http.redactText)
  for await (const { records, isLastPage } of requestPages(context, pager, increment)) {
    yield { records, cursor: isLastPage ? increment?.finish(http.startedAt()) : undefined }
  }
  const recordsWithoutCursor = increment?.recordsWithoutCursor ?? 0
  if (recordsWithoutCursor > 0)
    log(
      'WARN',
      'LOW',
      `${formatCount(recordsWithoutCursor, 'record')} had no value in "${incrementSettings!.cursorField}" (restApi.increment.cursorField). An increment loads changes of such records only if the API returns them.`,
    )
}

/**
 * Requests one page after another, and adds the records to the increment. The last page has no records if the API
 * responds with “not found” at the end.
 */
async function* requestPages(
  context: RestContext,
  pager: RestPager,
  increment: RestIncrement | undefined,
): AsyncGenerator<{ records: readonly unknown[]; isLastPage: boolean }, void, void> {
  const { http, settings } = context
  let request = createRequest(context, { ...increment?.parameters, ...pager.first })
  for (;;) {
    const response = await requestPage(context, request, pager)
    if (!response) return yield { records: [], isLastPage: true }
    const records = readRecords(response.json, settings.restApi.records, http.redactText)
    increment?.addRecords(records)
    const nextPage = pager.findNext(response, records)
    yield { records, isLastPage: nextPage === undefined }
    if (!nextPage) return
    request =
      'link' in nextPage
        ? createLinkedRequest(context, nextPage.link, request)
        : createRequest(context, { ...increment?.parameters, ...nextPage.parameters })
  }
}

/**
 * Requests a page. Returns undefined if the API returned “not found” twice, and the paging allows that after the last
 * page.
 */
async function requestPage(
  { http, log }: RestContext,
  request: RestRequest,
  pager: RestPager,
): Promise<RestResponse | undefined> {
  try {
    return await sendRequest(http, request)
  } catch (error) {
    if (!isNotFound(error) || !pager.endsWhenNotFound()) throw error
  }
  // A single “not found” can be a fault of one server of the API, and would end the read too early.
  return sendRequest(http, request).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    log('INFO', 'LOW', 'The API returned “not found” for the page after the last one that it has.')
    return undefined
  })
}

const isNotFound = (error: unknown): boolean => error instanceof SourceProblem && error.code === 'NOT_FOUND'

async function requestFirstPage(
  context: RestContext,
): Promise<{ response: RestResponse; records: readonly unknown[] }> {
  const response = await requestFirstResponse(context)
  return { response, records: readRecords(response.json, context.settings.restApi.records, context.http.redactText) }
}

function requestFirstResponse(context: RestContext): Promise<RestResponse> {
  const { paging, increment }: RestApiSettings = context.settings.restApi
  const parameters = {
    ...(increment && startIncrement(increment, undefined, context.http.redactText).parameters),
    ...createPager(paging).first,
  }
  return sendRequest(context.http, createRequest(context, parameters))
}

/** Lists the paths of the lists in the first response, as options for the setting `records`. */
async function listRecordPaths(context: RestContext): Promise<SourceOption[]> {
  const { json } = await requestFirstResponse(context)
  return listArrayPaths(json).flatMap((path) => createOption(path, {}))
}

/** Lists the fields of the first records, as options for the settings `key` and `cursorField`. */
async function listFields(context: RestContext): Promise<SourceOption[]> {
  const { records } = await requestFirstPage(context)
  return listFieldPaths(records).flatMap((path) => createOption(path, {}))
}
