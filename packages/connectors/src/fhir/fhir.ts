import type { SourceChoice } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import { basicAuthorization, type HttpSession, parseBaseUrl } from '../http-connector/http-session.ts'
import type { SystemContext, SettingsOf, RecordStream, HttpSystem } from '../http-connector/http-system.ts'
import { createBulkExport } from './export.ts'
import { type ResourceView, resourceView } from './view-definition.ts'
import { viewStream } from './view-stream.ts'
import { type SearchFilter, lastUpdated, resourcesOf, searchResources } from './search.ts'
import { type KeyObject, createPrivateKey, randomUUID, sign } from 'node:crypto'

export type FhirSettings = SettingsOf<'FHIR'>

const name = 'FHIR'
/** Maximum number of types that a test requests before the pipeline is saved. */
const maxTestedTypes = 10

/** Any FHIR R4 server: the resources of the selected types, a table for each. */
export const fhir: HttpSystem<FhirSettings> = {
  name,
  // The rows of a view have no key for a merge.
  increments: ({ views = [] }) => views.length === 0,
  cursorAt: (moment) => moment,

  connect({ apiSource }, secrets) {
    const { url, username } = apiSource
    const { authToken, password, privateKey } = secrets
    const accept = 'application/fhir+json, application/json'
    // Links of a server point to its host, but not always to paths below its address.
    const { origin } = new URL(parseBaseUrl(url))
    if (privateKey)
      return {
        url: origin,
        headers: { accept },
        signIn: (http) => signInByKey(http, prefixOf(apiSource), apiSource, privateKey),
      }
    const authorization = authToken
      ? `Bearer ${authToken}`
      : username && password && basicAuthorization(username, password)
    return { url: origin, headers: { accept, ...(authorization && { authorization }) } }
  },

  /** The capability statement is public, so each type is requested to check the credentials. */
  async test({ http, settings }) {
    viewsOf(settings)
    const prefix = prefixOf(settings.apiSource)
    const types = await typesOf(http, prefix)
    for (const type of settings.resourceTypes.slice(0, maxTestedTypes)) {
      if (types.length > 0 && !types.includes(type))
        throw new SourceProblem(
          'NOT_FOUND',
          `The server has no resources of type ${type}: choose among those that it has.`,
        )
      resourcesOf(await http.getJson(`${prefix}/${type}`, { query: { _count: 1 }, subject: resources(type) }), {
        name,
        type,
      })
    }
  },

  lookup: (kind, { http, settings }) =>
    kind === 'resource-types' ? choices(http, prefixOf(settings.apiSource)) : undefined,

  async streams({ http, settings, signal, log }) {
    const { search = '', resourceTypes: types, method, group } = settings
    const prefix = prefixOf(settings.apiSource)
    const views = viewsOf(settings)
    const tables = types.flatMap((type): { type: string; view?: ResourceView }[] => {
      const own = views.filter(({ resource }) => resource === type)
      return own.length === 0 ? [{ type }] : own.map((view) => ({ type, view }))
    })
    const read =
      method === 'BULK_EXPORT'
        ? createBulkExport({ http, signal, log }, { prefix, types, group, readings: tables.length })
        : (type: string, since?: string) =>
            searchResources(http, {
              name,
              type,
              path: `${prefix}/${type}`,
              search,
              ...(since !== undefined && { since }),
            })
    return tables.map(({ type, view }) =>
      view ? viewStream(view, () => read(type)) : streamOf(type, ({ since }) => read(type, since)),
    )
  },
}

const prefixOf = ({ url }: FhirSettings['apiSource']): string => new URL(parseBaseUrl(url)).pathname.replace(/\/$/, '')

const resources = (type: string) => `The resources of type ${type}`

/**
 * Reads a resource type as a table, and its lists of objects as child tables. Extensions and other elements that every
 * element can have stay JSON.
 */
export const streamOf = (
  type: string,
  read: (since: SearchFilter) => ReturnType<RecordStream['pages']>,
): RecordStream => ({
  name: type,
  key: ['id'],
  columns: [
    { path: 'id', dataType: 'TEXT' },
    { path: 'meta.versionId', dataType: 'TEXT' },
    { path: lastUpdated, dataType: 'TIMESTAMPTZ' },
  ],
  isStoredAsJson: (path) => /(^|\.)(extension|modifierExtension|contained)$/.test(path),
  pages: (cursor) => read(typeof cursor === 'string' ? { since: cursor } : {}),
})

async function typesOf(http: SystemContext['http'], prefix: string): Promise<string[]> {
  const statement = parseObject(await http.getJson(`${prefix}/metadata`), name)
  if (statement['resourceType'] !== 'CapabilityStatement') throw createResponseProblem(name, 'a CapabilityStatement')
  const version = toText(statement['fhirVersion']) ?? ''
  if (!version.startsWith('4.'))
    throw new SourceProblem(
      'OTHER_PROTOCOL',
      `The server speaks FHIR ${version || 'of no version that it says'}, and R4 (4.0 or 4.3) is read: ask for its address of R4.`,
    )
  const [rest] = Array.isArray(statement['rest']) ? (statement['rest'] as unknown[]) : []
  const all = parseObject(rest ?? {}, name)['resource']
  return (Array.isArray(all) ? parseList(all, name) : [])
    .map((one) => toText(parseObject(one, name)['type']))
    .filter((type) => type !== undefined)
}

async function choices(http: SystemContext['http'], prefix: string): Promise<SourceChoice[]> {
  const types = await typesOf(http, prefix)
  return types.toSorted().map((type) => ({ id: type, code: type, name: type }))
}

/** Throws `SourceProblem` for an invalid view. */
const viewsOf = ({ views = [] }: FhirSettings): ResourceView[] => views.map(resourceView)

interface ClientCredentials {
  clientId?: string
  keyId?: string
  scope?: string
}

/** Seconds. Servers accept at most five minutes. */
const lifetime = 240

/**
 * SMART Backend Services: exchanges a signed JWT assertion for an access token that is valid for some minutes. The server names the
 * token endpoint, which can be on another host: that host gets only the assertion, which is valid for that endpoint only.
 */
async function signInByKey(
  http: HttpSession,
  prefix: string,
  { clientId = '', keyId, scope = 'system/*.rs' }: ClientCredentials,
  privateKey: string,
): Promise<Record<string, string>> {
  const key = keyOf(privateKey)
  const found = parseObject(
    await http.getJson(`${prefix}/.well-known/smart-configuration`, {
      subject: 'The description of how programs sign in',
    }),
    'FHIR',
  )
  const address = toText(found['token_endpoint'])
  if (address === undefined || !URL.canParse(address)) throw createResponseProblem('FHIR', 'a token_endpoint')
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: statement(key, { clientId, keyId, address }),
  })
  const { pathname, search, origin } = new URL(address)
  const answer = parseObject(
    await http.forOrigin(origin).getJson(`${pathname}${search}`, { method: 'POST', body }),
    'FHIR',
  )
  const token = toText(answer['access_token'])
  if (token === undefined) throw createResponseProblem('FHIR', 'an access_token')
  return { authorization: `Bearer ${token}` }
}

function statement(
  key: KeyObject,
  { clientId, keyId, address }: { clientId: string; keyId: string | undefined; address: string },
): string {
  const rsa = key.asymmetricKeyType === 'rsa'
  const now = Math.floor(Date.now() / 1000)
  const header = { alg: rsa ? 'RS384' : 'ES384', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) }
  const claims = { iss: clientId, sub: clientId, aud: address, iat: now, exp: now + lifetime, jti: randomUUID() }
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha384', Buffer.from(text), rsa ? key : { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

/** Parses a private key. The error names the problem and does not contain the key. */
function keyOf(pem: string): KeyObject {
  const refuse = (what: string) =>
    new SourceProblem('AUTHENTICATION_FAILED', `The private key ${what}: give one of RSA or P-384 as PKCS #8 in PEM.`)
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw refuse('cannot be read')
  }
  const curve = key.asymmetricKeyDetails?.namedCurve
  if (key.asymmetricKeyType === 'rsa' || (key.asymmetricKeyType === 'ec' && curve === 'secp384r1')) return key
  throw refuse('is of a kind that servers do not take')
}
