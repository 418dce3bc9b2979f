import { SourceProblem } from '@sluice/row-stream'
import type { HttpSystem, SettingsOf, SystemContext } from '../http-connector/http-system.ts'
import type { SourceSecrets } from '../connector.ts'
import { toArray, toText } from '../http-connector/parse-response.ts'
import type { HttpSession, HttpConnection } from '../http-connector/http-session.ts'
import { connectToLambda, explainRejectedKey, getInvocationPath, listFunctions } from './aws-lambda.ts'
import type { connectorTypes } from '@sluice/contracts'
import { type DataType, dataTypes } from '@sluice/contracts/data-type'
import { parseJson } from '../http-connector/exact-json.ts'
import type { KnownColumn } from '../http-connector/declared-column.ts'

type FunctionSettings = SettingsOf<typeof connectorTypes.functionCall>
type FunctionAddress = FunctionSettings['functionSource']

/** True if the function runs in AWS Lambda. An access key shows this even before a function is selected. */
const isLambda = ({ functionName }: FunctionAddress, { accessKey }: SourceSecrets): boolean =>
  functionName !== undefined || accessKey !== undefined

/** Reads the rows that a function returns. The function runs in AWS Lambda or at an HTTP address. */
export const functionSystem: HttpSystem<FunctionSettings> = {
  name: 'the function',

  connect: ({ functionSource: address }, secrets) =>
    isLambda(address, secrets) ? connectToLambda(address, secrets) : connectToAddress(address, secrets),

  async testConnection(context) {
    const { functionSource: address } = context.settings
    if (address.functionName === undefined) {
      // A function at an HTTP address has no test mode, so the test calls it once.
      await callFunction(context, 1)
      return
    }
    using _response = await explainRejectedKey(
      context.http.download(getInvocationPath(address), {
        method: 'POST',
        body: {},
        headers: { 'x-amz-invocation-type': 'DryRun' },
        isIdempotent: true,
        subject: describeFunction(address),
      }),
    )
  },

  listOptions: (kind, { http, settings, secrets }) =>
    kind === 'functions' && isLambda(settings.functionSource, secrets) ? listFunctions(http) : undefined,

  async openStreams(context) {
    // The first response contains the key and columns for all rows.
    const firstResponse = await callFunction(context, 1)
    return {
      name: 'rows',
      key: firstResponse.key,
      columns: firstResponse.columns,
      async *readPages() {
        let response: RowList | undefined = firstResponse
        for (let page = 1; ; page += 1) {
          yield { records: response.rows }
          const { nextToken }: RowList = response
          // Releases the rows, so that they are not in memory during the next call.
          response = undefined
          if (nextToken === undefined) return
          response = await callFunction(context, page + 1, nextToken)
          if (response.nextToken === nextToken) throw createRepeatedTokenProblem(page + 1)
        }
      },
    }
  },
}

/**
 * Returns the connection to the origin of the function's address, with the token if there is one. Each request then
 * adds the path and query unchanged, because a trailing slash can matter.
 */
function connectToAddress({ url = '', headerName }: FunctionAddress, { authToken }: SourceSecrets): HttpConnection {
  const origin = URL.canParse(url) ? new URL(url).origin : url
  if (!authToken) return { url: origin }
  const headers = headerName === undefined ? { authorization: `Bearer ${authToken}` } : { [headerName]: authToken }
  return { url: origin, headers }
}

/** Returns the path and query of requests. Throws ADDRESS_INVALID without a function or a valid address. */
function getRequestPath(address: FunctionAddress): string {
  if (address.functionName !== undefined) return getInvocationPath(address)
  const { url = '' } = address
  // A pipeline with an access key may have neither an address nor a function, because the function is not selected yet.
  if (!URL.canParse(url))
    throw new SourceProblem(
      'ADDRESS_INVALID',
      'The pipeline has neither a function nor a valid address. Select a function, or enter an address like https://example.org/rows.',
    )
  const { pathname, search } = new URL(url)
  return pathname === '/' ? search : `${pathname}${search}`
}

const describeFunction = ({ functionName }: FunctionAddress): string =>
  functionName === undefined ? 'The function' : `The function "${functionName}"`

/** Calls the function with the payload from the settings, the page number, and the token of the previous response. */
async function callFunction(
  { http, settings, log }: SystemContext<FunctionSettings>,
  page: number,
  nextToken?: string | number,
): Promise<RowList> {
  const { functionSource: address, payload } = settings
  const { json, headers } = await explainRejectedKey(
    http.getResponse(getRequestPath(address), {
      method: 'POST',
      body: { ...payload, page, nextToken: nextToken ?? null },
      isIdempotent: true,
      ...(address.functionName !== undefined && { subject: describeFunction(address) }),
    }),
  )
  if (headers.has('x-amz-function-error')) throw createFunctionProblem(json, http, address)
  const reportUnknownType: ReportUnknownType = (column, type) =>
    log(
      'WARN',
      'LOW',
      `The function declares the unknown type "${http.redactText(type)}" for the column "${column}". Sluice infers the type from the values instead.`,
    )
  return parseRows(json, http.redactText, reportUnknownType)
}

/**
 * Returns the problem for a Lambda function that threw an error, or exceeded its time, memory or 6 MB response limit.
 * AWS reports these with HTTP status 200.
 */
function createFunctionProblem(response: unknown, http: HttpSession, address: FunctionAddress): SourceProblem {
  const { errorType, errorMessage } = (response ?? {}) as Record<string, unknown>
  const texts = [toText(errorType), toText(errorMessage)].filter((text) => text !== undefined)
  const errorText = http.redactText(texts.join(': '))
  const serverText = errorText === '' ? '' : ` It says: ${errorText}`
  const name = describeFunction(address)
  const isResponseTooLarge = /ResponseSizeTooLarge|payload size exceeded/i.test(errorText)
  if (isResponseTooLarge)
    return new SourceProblem(
      'ANSWER_TOO_LARGE',
      `${name} returned more than 6 MB, the maximum of AWS Lambda. Return fewer rows per call, with a nextToken for the next call.${serverText}`,
    )
  return new SourceProblem('SOURCE_FAILED', `${name} failed. Check the function, then run again.${serverText}`)
}

const createRepeatedTokenProblem = (page: number): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `The function returned the same nextToken for page ${page} as for the page before, which would repeat forever. Return a different token for each page, and no token for the last page.`,
  )

interface RowList {
  rows: readonly unknown[]
  /** The token for the next call. Absent in the last response. */
  nextToken?: string | number
  columns: KnownColumn[]
  key: string[]
}

/** Called if a function reports a column type that this version does not know. */
type ReportUnknownType = (column: string, type: string) => void

/**
 * Parses a function's response to rows. Accepts a list of objects, `{ rows, nextToken?, columns?, key? }`, or an API
 * gateway response with either of these as its `body`. Throws `SourceProblem` for any other response.
 */
export function parseRows(
  response: unknown,
  redactText: (text: string) => string,
  reportUnknownType: ReportUnknownType,
): RowList {
  const content = unwrapGatewayResponse(response, redactText)
  if (Array.isArray(content)) return { rows: content as unknown[], columns: [], key: [] }
  const { rows, nextToken, columns, key } = (content ?? {}) as Record<string, unknown>
  if (!Array.isArray(rows)) throw createNoRowsProblem()
  const hasNextToken = toText(nextToken) !== undefined
  const keyPaths = typeof key === 'string' ? [key] : toArray(key)
  return {
    rows: rows as unknown[],
    ...(hasNextToken && { nextToken: nextToken as string | number }),
    columns: toArray(columns).flatMap((column) => parseDeclaredColumn(column, reportUnknownType)),
    key: keyPaths.flatMap((path) => toText(path) ?? []),
  }
}

/**
 * Returns the content of an API gateway response `{statusCode, headers, body}`: the body, decoded from Base64 and
 * parsed as JSON if necessary. Returns any other response unchanged. Throws `SourceProblem` if the status is an error.
 */
function unwrapGatewayResponse(response: unknown, redactText: (text: string) => string): unknown {
  if (typeof response !== 'object' || response === null) return response
  const isGatewayResponse = 'statusCode' in response && !('rows' in response)
  if (!isGatewayResponse) return response
  const { statusCode, body, isBase64Encoded } = response as Record<string, unknown>
  const content = isBase64Encoded === true ? Buffer.from(String(body), 'base64').toString() : body
  if (Number(statusCode) >= 400) {
    const errorText = typeof content === 'string' ? content : JSON.stringify(content)
    const serverText = content === undefined ? '' : ` It says: ${redactText(errorText)}`
    throw new SourceProblem(
      'SOURCE_FAILED',
      `The function returned status ${String(statusCode)} in its response. Check the function, then run again.${serverText}`,
    )
  }
  if (typeof content !== 'string') return content
  try {
    return parseJson(content)
  } catch (error) {
    throw error instanceof SourceProblem ? error : createNoRowsProblem()
  }
}

const createNoRowsProblem = (): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    'The response of the function has no rows. Return a list of objects, or {"rows": [ … ], "nextToken": …}.',
  )

/**
 * Returns a list with one column, or an empty list for a column without a name. A column is a name or an object with
 * `name` and `type`. The type of a column is inferred if it is absent or unknown.
 */
function parseDeclaredColumn(column: unknown, reportUnknownType: ReportUnknownType): KnownColumn[] {
  if (typeof column === 'string') return [{ path: column }]
  if (typeof column !== 'object' || column === null) return []
  const { name, type } = column as Record<string, unknown>
  const path = toText(name)
  const typeName = toText(type)
  if (path === undefined) return []
  const dataType = dataTypes.find((knownType): knownType is DataType => knownType === typeName?.toUpperCase())
  if (typeName !== undefined && !dataType) reportUnknownType(path, typeName)
  return [{ path, ...(dataType && { dataType }) }]
}
