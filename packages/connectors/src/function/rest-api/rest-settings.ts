import type { connectorTypes } from '@sluice/contracts'
import type { SourceSecrets } from '../../connector.ts'
import { InvalidSetting, type SourceOf } from '../../settings/connector-definition.ts'

type FunctionSource = SourceOf<typeof connectorTypes.functionCall>
type RestApi = NonNullable<FunctionSource['restApi']>

/**
 * Matches headers of the HTTP connection. A user's value for one of them could redirect the request to another server
 * or corrupt the response.
 */
const connectionHeaders =
  /^(host|connection|keep-alive|content-length|content-encoding|transfer-encoding|accept-encoding|te|trailer|upgrade|expect|proxy-.*)$/i
const headerNamePattern = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

/** Matches names of headers and parameters that usually contain a secret. */
const secretHeaderPattern =
  /^(authorization|cookie)$|token|secret|password|(api|access|auth|subscription|functions|private)-?key|credential|signature/i
const secretParameterPattern =
  /^(key|app_?-?(key|id)|api_?-?key|subscription_?-?key|access_?-?(key|token)|auth_?-?token|token|secret|client_?-?secret|password|signature|sig)$/i

/** Throws `InvalidSetting` for REST API settings that the contract's schema accepts and that are still invalid. */
export function assertRestApi({ functionSource, payload, restApi }: FunctionSource): void {
  if (!restApi) return assertNoRestFields(functionSource)
  if (functionSource.functionName !== undefined)
    throw new InvalidSetting(
      '/restApi',
      'A function of AWS Lambda is not a REST API. Leave out restApi or functionName.',
    )
  if (functionSource.url === undefined)
    throw new InvalidSetting('/functionSource/url', 'Enter the address of the API, such as https://data.example.org.')
  if (payload !== undefined)
    throw new InvalidSetting('/payload', 'A payload is for functions. Use restApi.query or restApi.body instead.')
  assertTokenLocation(functionSource)
  assertHeaders(functionSource, restApi)
  assertNoReadableSecrets(functionSource.url, restApi)
  assertBody(restApi)
  assertPaging(restApi)
  assertIncrement(restApi)
}

/** Throws `InvalidSetting` for a username without a password, and for a header that would replace the token. */
export function assertRestSecrets({ functionSource, restApi }: FunctionSource, secrets: SourceSecrets): void {
  const { username, headerName, parameterName } = functionSource
  const hasToken = 'authToken' in secrets
  if (!hasToken && username !== undefined)
    throw new InvalidSetting('/functionSource/authToken', 'A username requires a password. Enter it in authToken.')
  const sendsTokenAsAuthorization = hasToken && headerName === undefined && parameterName === undefined
  if (!sendsTokenAsAuthorization) return
  const conflictingHeader = Object.keys(restApi?.headers ?? {}).find((name) => name.toLowerCase() === 'authorization')
  if (conflictingHeader !== undefined)
    throw new InvalidSetting(
      `/restApi/headers/${conflictingHeader}`,
      'The authToken is sent in this header. Remove the header or the token.',
    )
}

/** Throws if a function that is not a REST API has settings of a REST API. */
function assertNoRestFields({ parameterName, username }: FunctionSource['functionSource']): void {
  for (const [name, value] of Object.entries({ parameterName, username }))
    if (value !== undefined)
      throw new InvalidSetting(
        `/functionSource/${name}`,
        `Only a REST API has ${name}. Set restApi, or remove ${name}.`,
      )
}

/** Throws if the settings send the token in several places, such as a header and a query parameter. */
function assertTokenLocation({ headerName, parameterName, username }: FunctionSource['functionSource']): void {
  const fields = Object.entries({ headerName, parameterName, username })
  const [firstName, secondName] = fields.filter(([, value]) => value !== undefined).map(([name]) => name)
  if (secondName !== undefined)
    throw new InvalidSetting(
      `/functionSource/${secondName}`,
      `The token is sent once: set either ${firstName} or ${secondName}.`,
    )
}

/** Throws if a header is invalid, is set twice, is a header of the connection, or contains a secret. */
function assertHeaders({ headerName }: FunctionSource['functionSource'], { headers }: RestApi): void {
  if (headerName !== undefined && connectionHeaders.test(headerName))
    throw new InvalidSetting(
      '/functionSource/headerName',
      'Sluice sets this header itself, so it cannot contain the token. Choose another header.',
    )
  const seenNames = new Set<string>()
  for (const [name, value] of Object.entries(headers ?? {})) {
    const pointer = `/restApi/headers/${toPointer(name)}`
    if (!headerNamePattern.test(name))
      throw new InvalidSetting(pointer, 'The name of this header is invalid. Use letters, digits and hyphens only.')
    if (connectionHeaders.test(name)) throw new InvalidSetting(pointer, 'Sluice sets this header itself. Leave it out.')
    if (name.toLowerCase() === headerName?.toLowerCase())
      throw new InvalidSetting(pointer, 'This header carries the token (headerName). Leave it out.')
    if (secretHeaderPattern.test(name)) assertVariable(pointer, value, 'authToken with headerName')
    if (seenNames.has(name.toLowerCase())) throw new InvalidSetting(pointer, 'This header is set twice. Set it once.')
    seenNames.add(name.toLowerCase())
  }
}

/** Throws if a parameter or a field of the body looks like a secret and does not contain a variable. */
function assertNoReadableSecrets(url: string, { query = {}, body = {} }: RestApi): void {
  for (const [name, value] of URL.canParse(url) ? new URL(url).searchParams : [])
    if (secretParameterPattern.test(name))
      assertVariable('/functionSource/url', value, `authToken with parameterName, ${JSON.stringify(name)}`)
  for (const [name, value] of Object.entries(query))
    if (secretParameterPattern.test(name))
      assertVariable(`/restApi/query/${toPointer(name)}`, String(value), 'authToken with parameterName')
  assertNoReadableSecretsIn(body, '/restApi/body')
}

function assertNoReadableSecretsIn(object: object, pointer: string): void {
  for (const [name, value] of Object.entries(object)) {
    const fieldPointer = `${pointer}/${toPointer(name)}`
    if (typeof value === 'string' && secretParameterPattern.test(name)) assertVariable(fieldPointer, value, 'authToken')
    else if (typeof value === 'object' && value !== null) assertNoReadableSecretsIn(value as object, fieldPointer)
  }
}

function assertBody({ method, body, parametersIn }: RestApi): void {
  if (method === 'POST') return
  if (body !== undefined) throw new InvalidSetting('/restApi/body', 'A GET request has no body. Set method to POST.')
  if (parametersIn === 'BODY')
    throw new InvalidSetting('/restApi/parametersIn', 'A GET request has no body. Set method to POST, or use QUERY.')
}

/**
 * Throws unless the value of a setting for secrets contains a variable. Settings are stored and returned unencrypted,
 * so they must not contain a secret. `alternative` names the setting to use instead.
 */
function assertVariable(pointer: string, value: string, alternative: string): void {
  if (!value.includes('${'))
    throw new InvalidSetting(
      pointer,
      `The name suggests a secret, but its value would be stored unencrypted. Use ${alternative}, or a secured variable such as \${API_TOKEN}.`,
    )
}

/** Throws if the paging type lacks a field that it needs, or has a field that it does not use. */
function assertPaging({ paging }: RestApi): void {
  if (!paging) return
  const { type, path, lastRecordField, parameter, sizeParameter, size } = paging
  const requireField = (name: string, value: unknown) => {
    if (value === undefined) throw new InvalidSetting(`/restApi/paging/${name}`, `${type} needs ${name}.`)
  }
  if (type === 'NEXT_LINK') requireField('path', path)
  if (type === 'CURSOR' || type === 'PAGE' || type === 'OFFSET') requireField('parameter', parameter)
  const hasOneCursorField = (path === undefined) !== (lastRecordField === undefined)
  if (type === 'CURSOR' && !hasOneCursorField)
    throw new InvalidSetting('/restApi/paging/path', 'CURSOR needs either path or lastRecordField.')
  const hasOneSizeField = (sizeParameter === undefined) !== (size === undefined)
  if (hasOneSizeField) throw new InvalidSetting('/restApi/paging/size', 'Set both size and sizeParameter, or neither.')
  for (const [name, types] of Object.entries(pagingTypesByField))
    if (paging[name as keyof typeof paging] !== undefined && !types.includes(type))
      throw new InvalidSetting(`/restApi/paging/${name}`, `${type} does not use ${name}. Leave it out.`)
}

const parameterTypes = ['CURSOR', 'PAGE', 'OFFSET']
/** For each field that only some types of paging use, these types. */
const pagingTypesByField: Readonly<Record<string, readonly string[]>> = {
  path: ['NEXT_LINK', 'CURSOR'],
  lastRecordField: ['CURSOR'],
  parameter: parameterTypes,
  firstPage: ['PAGE'],
  hasMore: parameterTypes,
}

/** Throws if the records have no key, or if a number has the format of a timestamp. */
function assertIncrement({ increment, key }: RestApi): void {
  if (!increment) return
  if (key === undefined)
    throw new InvalidSetting('/restApi/key', 'An increment replaces records with the same key. Set the key.')
  if (increment.cursorType === 'NUMBER' && increment.sentAs !== undefined)
    throw new InvalidSetting('/restApi/increment/sentAs', 'A NUMBER is sent as it is. Leave out sentAs.')
}

/** Escapes a name for a JSON pointer (RFC 6901). */
const toPointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
