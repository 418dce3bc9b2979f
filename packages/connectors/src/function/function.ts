import { SourceProblem } from '@sluice/row-stream'
import type { HttpSystem, SettingsOf, SystemContext } from '../http-connector/http-system.ts'
import type { SourceSecrets } from '../connector.ts'
import { parseObject, toText } from '../http-connector/parse-response.ts'
import type { HttpSession, SystemConnection } from '../http-connector/http-session.ts'
import { functionsOf, invocationPath, keyTold, lambda } from './lambda.ts'
import { type DataType, dataTypes } from '@sluice/contracts'
import { parseJson } from '../http-connector/exact-json.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'

type FunctionSettings = SettingsOf<'FUNCTION'>
type FunctionAddress = FunctionSettings['functionSource']

/** An access key means AWS Lambda, even if no function is selected yet. */
const isOfLambda = ({ functionName }: FunctionAddress, { accessKey }: SourceSecrets): boolean =>
  functionName !== undefined || accessKey !== undefined

/** A function that returns rows: an AWS Lambda function, or an HTTP address. */
export const functionCall: HttpSystem<FunctionSettings> = {
  name: 'the function',

  connect: ({ functionSource: place }, secrets) =>
    isOfLambda(place, secrets) ? lambda(place, secrets) : behindAddress(place, secrets),

  async test(asking) {
    const { functionSource: place } = asking.settings
    // Only a call can test an address.
    if (place.functionName === undefined) return void (await call(asking, 1))
    using _tried = await keyTold(
      asking.http.download(invocationPath(place), {
        method: 'POST',
        body: {},
        headers: { 'x-amz-invocation-type': 'DryRun' },
        repeatable: true,
        subject: whatOf(place),
      }),
    )
  },

  lookup: (kind, { http, settings, secrets }) =>
    kind === 'functions' && isOfLambda(settings.functionSource, secrets) ? functionsOf(http) : undefined,

  async streams(asking) {
    // The first response declares the key and the columns.
    const first = await call(asking, 1)
    return {
      name: 'rows',
      key: first.key,
      columns: first.columns,
      async *pages() {
        let answer: RowList | undefined = first
        for (let page = 1; ; page += 1) {
          yield { records: answer.rows }
          const { nextToken }: RowList = answer
          answer = undefined
          if (nextToken === undefined) return
          answer = await call(asking, page + 1, nextToken)
          if (answer.nextToken === nextToken) throw goesInCircles(page + 1)
        }
      },
    }
  },
}

/** Uses the path and query unchanged, because a trailing slash can be significant. */
function behindAddress({ url = '', headerName }: FunctionAddress, secrets: SourceSecrets): SystemConnection {
  const { authToken } = secrets
  const origin = URL.canParse(url) ? new URL(url).origin : url
  if (!authToken) return { url: origin }
  const header = headerName === undefined ? { authorization: `Bearer ${authToken}` } : { [headerName]: authToken }
  return { url: origin, headers: header }
}

function pathOf(place: FunctionAddress): string {
  if (place.functionName !== undefined) return invocationPath(place)
  const { url = '' } = place
  // With an access key, the function may not be selected yet.
  if (!URL.canParse(url)) throw functionMissing()
  const { pathname, search } = new URL(url)
  return pathname === '/' ? search : `${pathname}${search}`
}

const whatOf = ({ functionName }: FunctionAddress): string =>
  functionName === undefined ? 'The function' : `The function "${functionName}"`

const chosenOf = (place: FunctionAddress) => place.functionName !== undefined && { subject: whatOf(place) }

/** Calls the function once with the payload of the settings, the page number, and the token of the last response. */
async function call(
  { http, settings, log }: SystemContext<FunctionSettings>,
  page: number,
  nextToken?: string | number,
): Promise<RowList> {
  const { functionSource: place, payload } = settings
  const { json, headers } = await keyTold(
    http.getResponse(pathOf(place), {
      method: 'POST',
      body: { ...payload, page, nextToken: nextToken ?? null },
      repeatable: true,
      ...chosenOf(place),
    }),
  )
  const failed = headers.get('x-amz-function-error')
  if (failed !== null) throw failure(json, http, place)
  return rowsIn(json, http.redactText, (column, type) =>
    log(
      'WARN',
      'LOW',
      `The function says that "${column}" is of type "${http.redactText(type)}", which Sluice does not know. Sluice infers the type from the values.`,
    ),
  )
}

/** AWS returns 200 if a function throws, exceeds its time or memory, or returns more than 6 MB. */
function failure(answer: unknown, http: HttpSession, place: FunctionAddress): SourceProblem {
  const { errorType, errorMessage } = (answer ?? {}) as Record<string, unknown>
  const said = http.redactText(
    [toText(errorType), toText(errorMessage)].filter((part) => part !== undefined).join(': '),
  )
  const says = said === '' ? '' : ` It says: ${said}`
  if (/ResponseSizeTooLarge|payload size exceeded/i.test(said))
    return new SourceProblem(
      'ANSWER_TOO_LARGE',
      `${whatOf(place)} answers more than the 6 MB that AWS Lambda hands on: let it answer in parts, each with a nextToken.${says}`,
    )
  return new SourceProblem('SOURCE_FAILED', `${whatOf(place)} fails: look what is wrong there, then run again.${says}`)
}

const functionMissing = (): SourceProblem =>
  new SourceProblem(
    'ADDRESS_INVALID',
    'The function has no name, and no address that is one: choose a function, or write its address like https://example.org/rows.',
  )

const goesInCircles = (page: number): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `The function gives the same nextToken with page ${page} as with the one before, so it would never end: let it give another one, or none.`,
  )

interface RowList {
  rows: readonly unknown[]
  /** Absent in the last response. */
  nextToken?: string | number
  columns: KnownColumn[]
  key: string[]
}

/** Types of `columns` that this version does not know. */
type UnknownValue = (column: string, type: string) => void

/**
 * Returns the rows of a response: a list of objects; `{ rows, nextToken?, columns?, key? }`; or either of them as the `body`
 * of an API gateway response. Throws `SourceProblem`.
 */
export function rowsIn(answer: unknown, words: (text: string) => string, unknown: UnknownValue): RowList {
  const said = unwrapped(answer, words)
  if (Array.isArray(said)) return { rows: said as unknown[], columns: [], key: [] }
  const { rows, nextToken, columns, key } =
    said !== null && typeof said === 'object' ? parseObject(said, 'the function') : {}
  if (!Array.isArray(rows)) throw noRows()
  const next = toText(nextToken)
  return {
    rows: rows as unknown[],
    ...(next !== undefined && { nextToken: nextToken as string | number }),
    columns: listOf(columns).flatMap((column) => known(column, unknown)),
    key: listOf(typeof key === 'string' ? [key] : key).flatMap((path) => toText(path) ?? []),
  }
}

/** Returns the body of an API gateway response `{statusCode, headers, body}`, and any other response unchanged. */
function unwrapped(answer: unknown, words: (text: string) => string): unknown {
  if (typeof answer !== 'object' || answer === null || !('statusCode' in answer) || 'rows' in answer) return answer
  const { statusCode, body, isBase64Encoded } = answer as Record<string, unknown>
  const text = isBase64Encoded === true ? Buffer.from(String(body), 'base64').toString() : body
  if (Number(statusCode) >= 400) {
    const says = text === undefined ? '' : ` It says: ${words(typeof text === 'string' ? text : JSON.stringify(text))}`
    throw new SourceProblem(
      'SOURCE_FAILED',
      `The function answers ${String(statusCode)} in its envelope: look what is wrong there, then run again.${says}`,
    )
  }
  if (typeof text !== 'string') return text
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof SourceProblem) throw error
    throw noRows()
  }
}

const noRows = (): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    'What the function answers holds no rows: let it answer a list of objects, or {"rows": [ … ], "nextToken": …}.',
  )

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

function known(column: unknown, unknown: UnknownValue): KnownColumn[] {
  if (typeof column === 'string') return [{ path: column }]
  if (typeof column !== 'object' || column === null) return []
  const { name, type } = column as Record<string, unknown>
  const path = toText(name)
  if (path === undefined) return []
  const wanted = toText(type)
  if (wanted === undefined) return [{ path }]
  const dataType = dataTypes.find((one): one is DataType => one === wanted.toUpperCase())
  if (!dataType) unknown(path, wanted)
  return [{ path, ...(dataType && { dataType }) }]
}
