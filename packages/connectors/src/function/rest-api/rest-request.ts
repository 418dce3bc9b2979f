import { SourceProblem } from '@sluice/row-stream'
import type { SourceSecrets } from '../../connector.ts'
import type { HttpSession, RequestOptions } from '../../http-connector/http-session.ts'
import type { SettingsOf, SystemContext } from '../../http-connector/http-system.ts'
import type { connectorTypes } from '@sluice/contracts/connector-types'
import { setAtPath } from './json-path.ts'

type FunctionSettings = SettingsOf<typeof connectorTypes.functionCall>
export type RestApiSettings = NonNullable<FunctionSettings['restApi']>
export type RestSettings = FunctionSettings & { restApi: RestApiSettings }
export type RestContext = SystemContext<RestSettings>

/** Request parameters for paging and increments. In a body, a parameter can be any JSON value. */
export type RestParameters = Readonly<Record<string, unknown>>

export interface RestRequest {
  /** The path and query, relative to the origin of the address. */
  path: string
  options: RequestOptions
}

export interface RestResponse {
  json: unknown
  headers: Headers
}

/**
 * Builds a request from the settings and further parameters, which take precedence over settings of the same name.
 * Undefined parameters are left out.
 */
export function createRequest({ settings, secrets }: RestContext, parameters: RestParameters): RestRequest {
  const { functionSource, restApi } = settings
  const url = buildAddress(functionSource.url ?? '', restApi.path)
  for (const [name, value] of Object.entries(restApi.query ?? {}))
    for (const item of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(item))
  let body: object = restApi.body ?? {}
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue
    if (restApi.parametersIn === 'BODY') body = setAtPath(body, name, value)
    else url.searchParams.set(name, formatParameter(value))
  }
  setTokenParameter(url, functionSource, secrets)
  return { path: formatPath(url), options: createOptions(restApi, body) }
}

/**
 * Builds the request for the next page from its link, which is relative to the current page. `http.base` must be the
 * origin of the API. Throws `SourceProblem` for a link to another host (in `resolveLink`).
 */
export function createLinkedRequest(
  { http, settings, secrets }: RestContext,
  link: string,
  currentRequest: RestRequest,
): RestRequest {
  const { functionSource } = settings
  const currentUrl = new URL(`${http.base}${currentRequest.path}`)
  const absoluteLink = URL.canParse(link, currentUrl.href) ? new URL(link, currentUrl).href : link
  const nextPath = http.resolveLink(absoluteLink)
  // The path is appended as text, because a URL parser would read the path `items:list` as a scheme.
  const nextUrl = new URL(`${http.base}/${nextPath}`)
  const linkHasToken = nextUrl.searchParams.has(functionSource.parameterName ?? '')
  if (!linkHasToken) setTokenParameter(nextUrl, functionSource, secrets)
  return { path: formatPath(nextUrl), options: currentRequest.options }
}

export const sendRequest = (http: HttpSession, { path, options }: RestRequest): Promise<RestResponse> =>
  http.getResponse(path, options)

/** Formats a parameter: a number with all its digits, any other value as text or JSON. */
export const formatParameter = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/**
 * Returns the path and query for a request. For the root path, returns only the query, because the session would
 * otherwise add a slash to an address without a path.
 */
const formatPath = ({ pathname, search }: URL): string => (pathname === '/' ? search : `${pathname}${search}`)

const createOptions = ({ method = 'GET', headers = {} }: RestApiSettings, body: object): RequestOptions => ({
  method,
  headers: Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), validateHeader(name, value)]),
  ),
  // Reading can be repeated with any HTTP method.
  isIdempotent: true,
  ...(method === 'POST' && { body }),
})

/**
 * Returns the value of a header unchanged. Throws `SourceProblem` REQUEST_REFUSED if a header cannot contain it, such
 * as a line break from a variable.
 */
function validateHeader(name: string, value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value
  throw new SourceProblem(
    'REQUEST_REFUSED',
    `The header "${name}" (restApi.headers) has a character that no header can contain. Check the variables used in it.`,
  )
}

/** Adds the token to the query, if the settings name a parameter for it. */
function setTokenParameter(
  url: URL,
  { parameterName }: FunctionSettings['functionSource'],
  { authToken }: SourceSecrets,
): void {
  if (parameterName !== undefined && authToken) url.searchParams.set(parameterName, authToken)
}

/** Appends the path of the settings to the address. Throws `SourceProblem` ADDRESS_INVALID. */
function buildAddress(address: string, path: string | undefined): URL {
  if (!URL.canParse(address))
    throw new SourceProblem('ADDRESS_INVALID', 'The address is invalid. Enter it in the form https://data.example.org.')
  const url = new URL(address)
  if (path === undefined) return url
  assertPlainPath(path)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`
  return url
}

/**
 * Throws `SourceProblem` ADDRESS_INVALID if a variable made a path segment empty, or made it a step to another
 * directory, such as `..`.
 */
function assertPlainPath(path: string): void {
  const segments = path.replace(/^\//, '').replace(/\/$/, '').split('/')
  // An encoded slash can hide a step to another directory inside a segment.
  const containsStep = (segment: string) =>
    decodeSegment(segment)
      .split(/[\\/]/)
      .some((part) => part === '.' || part === '..')
  if (segments.some((segment) => segment === '' || containsStep(segment)))
    throw new SourceProblem(
      'ADDRESS_INVALID',
      'The path (restApi.path) has an empty part, "." or "..". Check the variables used in it.',
    )
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
