import { createHash, createHmac } from 'node:crypto'
import { type Person, People } from '../../../test/sample-records.ts'
import {
  type StandInResponse,
  type StandInRequest,
  type StandInServer,
  startStandInServer,
} from '../../../test/stand-in-server.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'

const pageSize = 500

/** What somebody wrote who lets people be read: rows in pages, by the token of the last one. */
export function peopleOf(people: People, body: string): object {
  const { nextToken } = JSON.parse(body) as { nextToken: string | null }
  const from = nextToken === null ? 0 : Number(nextToken.slice('from '.length))
  const found = people.page({ from, limit: pageSize + 1 })
  const next = found[pageSize]
  return {
    columns: [{ name: 'id', type: 'BIGINT' }, { name: 'name' }],
    key: ['id'],
    rows: found.slice(0, pageSize).map(row),
    ...(next && { nextToken: `from ${next.id}` }),
  }
}

const row = ({ id, name, extra, children = [], isUnstorable }: Person): object => ({
  id,
  name: isUnstorable ? `\u0000${name}` : name,
  place: { country: 'KE' },
  ...(extra !== undefined && { extra }),
  ...(children.length > 0 && { children: children.map((called) => ({ called })) }),
})

export interface FunctionServer {
  server: StandInServer
  people: People
  /** What is answered instead of people, when it is there. */
  say: { answer?: (body: string) => StandInResponse }
}

/** Function with a URL that wants a token in a header. */
export async function startFunction(header: string, value: string): Promise<FunctionServer> {
  const people = new People()
  const say: FunctionServer['say'] = {}
  const server = await startStandInServer(({ method, path, query, headers, body }: StandInRequest): StandInResponse => {
    if (method !== 'POST' || path !== '/api/people/' || query.get('version') !== '2')
      return { status: 404, body: { error: 'No such function.' } }
    if (headers[header] !== value) return { status: 401, body: { error: 'The token is not known.' } }
    return say.answer?.(body) ?? { body: peopleOf(people, body) }
  })
  return { server, people, say }
}

/** The only one who may. */
export const key = { accessKey: 'AKIDEXAMPLEOFPEOPLE', secretKey: 'wJalr/K7MDENG+bPxRfiCYEXAMPLEKEY' }
export const account = 'arn:aws:lambda:eu-west-1:123456789012:function:'

/** AWS Lambda of one region with one function, `people`. Recomputes each signature from what came in. */
export async function startLambda(): Promise<FunctionServer> {
  const people = new People()
  const say: FunctionServer['say'] = {}
  const server = await startStandInServer((request: StandInRequest): StandInResponse => {
    const refused = refusalOf(request)
    if (refused) return refused
    if (request.path === '/2015-03-31/functions/') return list(request.query)
    const [, called] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(request.path) ?? []
    const name = decodeURIComponent(called ?? '').replace(account, '')
    const version = request.query.get('Qualifier') ?? 'live'
    if (request.method !== 'POST' || name !== 'people' || version !== 'live')
      return { status: 404, body: { Message: `Function not found: ${account}${name}`, Type: 'User' } }
    if (request.headers['x-amz-invocation-type'] === 'DryRun') return { status: 204 }
    return say.answer?.(request.body) ?? { body: peopleOf(people, request.body) }
  })
  return { server, people, say }
}

/** Two at once, so that there is a second page. */
function list(query: URLSearchParams): StandInResponse {
  const all = ['cases', 'people', 'stock'].map((name) => ({ FunctionName: name, FunctionArn: `${account}${name}` }))
  const from = Number(query.get('Marker') ?? 0)
  return { body: { Functions: all.slice(from, from + 2), NextMarker: from + 2 < all.length ? String(from + 2) : null } }
}

/** As AWS says it: 403 to a key that is not known, and to a signature that is another than the one that comes out here. */
function refusalOf({ method, path, query, headers, body }: StandInRequest): StandInResponse | undefined {
  const refuse = (type: string, message: string) => ({
    status: 403,
    headers: { 'x-amzn-errortype': type },
    body: { message },
  })
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=(?<id>[^/]+)\/(?<scope>(?<day>\d{8})\/(?<region>[a-z0-9-]+)\/lambda\/aws4_request), SignedHeaders=(?<names>[a-z0-9;-]+), Signature=(?<signature>[0-9a-f]{64})$/
  const messages = pattern.exec(headers.authorization ?? '')?.groups
  const moment = String(headers['x-amz-date'])
  if (!messages || !moment.startsWith(messages['day']!) || messages['region'] !== 'eu-west-1')
    return refuse('MissingAuthenticationTokenException', 'Missing Authentication Token: no signature of this region.')
  if (messages['id'] !== key.accessKey)
    return refuse('UnrecognizedClientException', 'The security token included in the request is invalid.')
  const sorted = [...query].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const canonical = [
    method,
    path.split('/').map(encoded).join('/'),
    sorted.map((pair) => pair.map(encoded).join('=')).join('&'),
    ...messages['names']!.split(';').map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    messages['names'],
    createHash('sha256').update(body).digest('hex'),
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', moment, messages['scope'], createHash('sha256').update(canonical).digest('hex')]
  const signing = messages['scope']!.split('/').reduce<Buffer | string>(hmac, `AWS4${key.secretKey}`)
  if (
    !messages['names']!.split(';').includes('host') ||
    hmac(signing, text.join('\n')).toString('hex') !== messages['signature']
  )
    return refuse(
      'InvalidSignatureException',
      'The request signature we calculated does not match the signature you provided.',
    )
  return undefined
}

const hmac = (secret: Buffer | string, text: string): Buffer => createHmac('sha256', secret).update(text).digest()

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

const token = 'a-token-of-the-function'
const whole = 'A function has no increments: each run reads everything and replaces the rows.'

const both = {
  type: 'FUNCTION',
  unsupportedRules: { increment: whole, edit: whole },
  columns: { id: 'id', name: 'name', extra: 'extra' },
  group: { table: '__children', column: 'called' },
} as const

export async function addressed() {
  const started = await startFunction('x-functions-key', token)
  const url = `${started.server.url}/api/people/?version=2`
  return {
    ...started,
    settings: { type: 'FUNCTION', functionSource: { url, headerName: 'X-Functions-Key' }, payload: { country: 'KE' } },
    secrets: { authToken: token },
    isPageRequest: ({ method }: StandInRequest) => method === 'POST',
  }
}

export async function invoked() {
  const started = await startLambda()
  return {
    ...started,
    settings: { type: 'FUNCTION', functionSource: { url: started.server.url, functionName: `${account}people` } },
    secrets: { ...key },
    isPageRequest: ({ path, headers }: StandInRequest) =>
      path.endsWith('/invocations') && !headers['x-amz-invocation-type'],
  }
}

export const addressedFunction: ConnectorFixture = {
  ...both,
  system: 'Function with a URL',
  unsupportedRules: { ...both.unsupportedRules, lookups: 'An address does not list other functions.' },
  lookups: {},
  start: addressed,
  account: {
    variables: ['SLUICE_FUNCTION_URL', 'SLUICE_FUNCTION_TOKEN'],
    settings: (values) => ({ type: 'FUNCTION', functionSource: { url: values['SLUICE_FUNCTION_URL'] } }),
    secrets: (values) => ({ authToken: values['SLUICE_FUNCTION_TOKEN']! }),
  },
}

export const lambdaFunction: ConnectorFixture = {
  ...both,
  system: 'AWS Lambda',
  lookups: { functions: ['cases', 'people', 'stock'].map((name) => `${account}${name}`) },
  start: invoked,
  account: {
    variables: ['SLUICE_LAMBDA_ARN', 'SLUICE_LAMBDA_ACCESS_KEY', 'SLUICE_LAMBDA_SECRET_KEY'],
    settings: (values) => ({ type: 'FUNCTION', functionSource: { functionName: values['SLUICE_LAMBDA_ARN'] } }),
    secrets: (values) => ({
      accessKey: values['SLUICE_LAMBDA_ACCESS_KEY']!,
      secretKey: values['SLUICE_LAMBDA_SECRET_KEY']!,
    }),
  },
}
