import { formatBasicAuthorization } from '../http-connector/http-session.ts'

/** Credentials for DHIS2. This module is shared by the connector and the DHIS2 destination. */
interface Dhis2Credentials {
  username?: string | undefined
  password?: string | undefined
  authToken?: string | undefined
}

/**
 * Returns the headers that authenticate a request with a token, or with a username and a password. Returns undefined
 * without credentials.
 */
export function createAuthHeaders({
  username,
  password,
  authToken,
}: Dhis2Credentials): Record<string, string> | undefined {
  // The header `x-requested-with` makes DHIS2 return 401 instead of a redirect to its login page.
  const headers = { 'x-requested-with': 'XMLHttpRequest' }
  if (authToken) return { authorization: `ApiToken ${authToken}`, ...headers }
  if (username && password) return { authorization: formatBasicAuthorization(username, password), ...headers }
  return undefined
}

export const missingCredentials = 'The credentials for DHIS2 are missing. Enter a username and password, or a token.'

/** Returns the minor version of DHIS2, such as 41 for `2.41.3`, or 0 if it is unknown. */
export const parseRelease = (version: string): number => Number(/^(?:2\.)?(\d{2,3})\b/.exec(version)?.[1] ?? 0)

/** API paths below /api by the kind of object that users can select in settings. */
const objectPaths: ReadonlyMap<string, string> = new Map([
  ['data-sets', 'dataSets'],
  ['data-elements', 'dataElements'],
  ['data-element-groups', 'dataElementGroups'],
  ['indicators', 'indicators'],
  ['indicator-groups', 'indicatorGroups'],
  ['programs', 'programs'],
  ['program-stages', 'programStages'],
  ['organisation-units', 'organisationUnits'],
  ['organisation-unit-groups', 'organisationUnitGroups'],
  ['organisation-unit-levels', 'organisationUnitLevels'],
  ['category-option-combos', 'categoryOptionCombos'],
  ['attributes', 'attributes'],
])

/** Returns the API path below /api of a kind of object. Returns undefined for an unknown kind. */
export const findObjectPath = (kind: string): string | undefined => objectPaths.get(kind)

/** Returns the query parameters for the first `limit` objects with `search` in their name, sorted by name. */
export const createOptionsQuery = (search: string | undefined, limit: number) => ({
  fields: 'id,code,displayName~rename(name)',
  order: 'displayName:asc',
  page: '1',
  pageSize: String(limit),
  filter: search ? `name:ilike:${search}` : undefined,
})

export interface Dhis2Option {
  id: string
  code: string
  name: string
}

/** Parses the options in a response. Returns undefined if the response has no list under `path`. */
export function parseOptions(response: unknown, path: string): Dhis2Option[] | undefined {
  const list = (response as Readonly<Record<string, unknown>> | null | undefined)?.[path]
  if (!Array.isArray(list)) return undefined
  return (list as (Readonly<Record<string, unknown>> | null)[]).flatMap((object) => {
    const { id, code, name } = object ?? {}
    if (typeof id !== 'string' || id === '') return []
    return [{ id: toShortText(id), code: toShortText(code ?? id), name: toShortText(name ?? id) }]
  })
}

const toShortText = (value: unknown): string => String(value).slice(0, 300)
