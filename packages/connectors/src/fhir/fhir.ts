import type { connectorTypes } from '@sluice/contracts/connector-types'
import { declareColumns } from '../http-connector/declared-column.ts'
import {
  createOption,
  parseText,
  parseObject,
  createResponseProblem,
  toArray,
  toText,
} from '../http-connector/parse-response.ts'
import { signJwt } from '../http-connector/sign-jwt.ts'
import { testSearch, searchResources } from './search-resources.ts'
import type { SourceOption, SourceSecrets } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import { formatBasicAuthorization, type HttpSession, parseBaseUrl } from '../http-connector/http-session.ts'
import type { SettingsOf, RecordStream, HttpSystem } from '../http-connector/http-system.ts'
import { createBulkExport } from './bulk-export.ts'
import { type ResourceView, parseView } from './view-definition.ts'
import { createViewStream } from './view-stream.ts'
import { type KeyObject, createPrivateKey, randomUUID } from 'node:crypto'

export type FhirSettings = SettingsOf<typeof connectorTypes.fhir>

const fhirName = 'FHIR'
/** The maximum number of resource types that a connection test requests. */
const maxTestedTypes = 10

/** Reads resources of any FHIR R4 server. Each selected type or view becomes a table. */
export const fhir: HttpSystem<FhirSettings> = {
  name: fhirName,
  // Views have no increments, because their rows have no key by which to merge them.
  canReadIncrement: ({ views = [] }) => views.length === 0,
  createCursor: (moment) => moment,

  connect({ apiSource }, secrets) {
    const { url, username } = apiSource
    const { privateKey } = secrets
    const accept = 'application/fhir+json, application/json'
    // A server's links stay on its host, but may leave the path of its base URL. So the session starts at the origin.
    const { origin } = new URL(parseBaseUrl(url))
    if (privateKey)
      return {
        url: origin,
        headers: { accept },
        signIn: (http) => signInWithPrivateKey(http, getPathPrefix(apiSource), apiSource, privateKey),
      }
    const authorization = formatAuthorization(username, secrets)
    return { url: origin, headers: { accept, ...(authorization !== undefined && { authorization }) } }
  },

  /**
   * Requests one resource of each type. The capability statement would not check the credentials, because it is public.
   */
  async testConnection({ http, settings }) {
    settings.views?.forEach(parseView)
    const prefix = getPathPrefix(settings.apiSource)
    const types = await listTypes(http, prefix)
    for (const type of settings.resourceTypes.slice(0, maxTestedTypes)) {
      if (types.length > 0 && !types.includes(type))
        throw new SourceProblem('NOT_FOUND', `The server has no resources of type ${type}. Select one of its types.`)
      await testSearch(http, { name: fhirName, type, path: `${prefix}/${type}` })
    }
  },

  listOptions: (kind, { http, settings }) =>
    kind === 'resource-types' ? listTypeOptions(http, getPathPrefix(settings.apiSource)) : undefined,

  async openStreams({ http, settings, signal, log }) {
    const { search: searchParameters = '', resourceTypes: types, method, group } = settings
    const prefix = getPathPrefix(settings.apiSource)
    const views = (settings.views ?? []).map(parseView)
    // A type with views has one table for each view, and no table of its resources.
    const tables = types.flatMap((type): { type: string; view?: ResourceView }[] => {
      const typeViews = views.filter(({ resource }) => resource === type)
      return typeViews.length === 0 ? [{ type }] : typeViews.map((view) => ({ type, view }))
    })
    const search = (type: string, since?: string) =>
      searchResources(http, { name: fhirName, type, path: `${prefix}/${type}`, search: searchParameters, since })
    const readResources =
      method === 'BULK_EXPORT'
        ? createBulkExport({ http, signal, log }, { prefix, types, group, streamCount: tables.length })
        : search
    return tables.map(({ type, view }) =>
      view
        ? createViewStream(view, () => readResources(type))
        : createResourceStream(type, (since) => readResources(type, since)),
    )
  },
}

/** Returns the value of the Authorization header for a token or a password, or undefined without credentials. */
function formatAuthorization(username: string | undefined, { authToken, password }: SourceSecrets): string | undefined {
  if (authToken) return `Bearer ${authToken}`
  return username && password ? formatBasicAuthorization(username, password) : undefined
}

/** Returns the path of the base URL, without a slash at its end. */
const getPathPrefix = ({ url }: FhirSettings['apiSource']): string =>
  new URL(parseBaseUrl(url)).pathname.replace(/\/$/, '')

/**
 * Returns the stream of a resource type. Lists of objects become child tables. Extensions and contained resources stay
 * JSON, because every element can have them.
 */
export const createResourceStream = (
  type: string,
  readResources: (since: string | undefined) => ReturnType<RecordStream['readPages']>,
): RecordStream => ({
  name: type,
  key: ['id'],
  columns: [
    ...declareColumns('TEXT', ['id', 'meta.versionId']),
    ...declareColumns('TIMESTAMPTZ', ['meta.lastUpdated']),
  ],
  isStoredAsJson: (path) => /(^|\.)(extension|modifierExtension|contained)$/.test(path),
  readPages: (cursor) => readResources(toText(cursor)),
})

/**
 * Lists the resource types of the server from its capability statement. The list is empty if the statement names none.
 * Throws `SourceProblem` OTHER_PROTOCOL if the server is not a FHIR R4 server.
 */
async function listTypes(http: HttpSession, prefix: string): Promise<string[]> {
  const statement = parseObject(await http.getJson(`${prefix}/metadata`), fhirName)
  if (statement['resourceType'] !== 'CapabilityStatement') throw createResponseProblem(fhirName, 'CapabilityStatement')
  const version = toText(statement['fhirVersion']) ?? ''
  if (!version.startsWith('4.'))
    throw new SourceProblem(
      'OTHER_PROTOCOL',
      `The server uses ${version ? `FHIR ${version}` : 'an unknown FHIR version'}, but Sluice reads only R4 (4.0 or 4.3). Enter the R4 address of the server.`,
    )
  const [restStatement] = toArray(statement['rest'])
  const resources = parseObject(restStatement ?? {}, fhirName)['resource']
  return toArray(resources)
    .map((resource) => toText(parseObject(resource, fhirName)['type']))
    .filter((type) => type !== undefined)
}

async function listTypeOptions(http: HttpSession, prefix: string): Promise<SourceOption[]> {
  const types = await listTypes(http, prefix)
  return types.toSorted().flatMap((type) => createOption(type, {}))
}

interface ClientCredentials {
  clientId?: string
  keyId?: string
  scope?: string
}

/** The lifetime of the JWT assertion in seconds. Servers accept at most 300. */
const assertionLifetime = 240

/**
 * Signs in with SMART Backend Services: exchanges a signed JWT assertion for an access token. The token endpoint may be
 * on another host, which receives only the assertion.
 */
async function signInWithPrivateKey(
  http: HttpSession,
  prefix: string,
  { clientId = '', keyId, scope = 'system/*.rs' }: ClientCredentials,
  privateKey: string,
): Promise<Record<string, string>> {
  const key = parsePrivateKey(privateKey)
  const subject = 'The SMART configuration of the server'
  const configuration = await http.getJson(`${prefix}/.well-known/smart-configuration`, { subject })
  const tokenEndpoint = parseText(configuration, fhirName, 'token_endpoint')
  if (!URL.canParse(tokenEndpoint)) throw createResponseProblem(fhirName, 'token_endpoint')
  const algorithm = key.asymmetricKeyType === 'rsa' ? 'RS384' : 'ES384'
  const claims = { iss: clientId, sub: clientId, aud: tokenEndpoint, jti: randomUUID() }
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    scope,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: signJwt({ algorithm, keyId, key }, claims, assertionLifetime),
  })
  const { pathname, search, origin } = new URL(tokenEndpoint)
  const response = await http.createPublicSession(origin).getJson(`${pathname}${search}`, { method: 'POST', body })
  return { authorization: `Bearer ${parseText(response, fhirName, 'access_token')}` }
}

/** Parses a PEM private key. The message of a thrown `SourceProblem` never contains the key. */
function parsePrivateKey(pem: string): KeyObject {
  const createProblem = (problem: string) =>
    new SourceProblem(
      'AUTHENTICATION_FAILED',
      `The private key ${problem}. Enter an RSA or P-384 key in PKCS #8 PEM format.`,
    )
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    throw createProblem('is not valid PEM')
  }
  const curve = key.asymmetricKeyDetails?.namedCurve
  if (key.asymmetricKeyType === 'rsa' || (key.asymmetricKeyType === 'ec' && curve === 'secp384r1')) return key
  throw createProblem('has a type other than RSA or P-384')
}
