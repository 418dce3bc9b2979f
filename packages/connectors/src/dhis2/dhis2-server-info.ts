import type { connectorTypes } from '@sluice/contracts/connector-types'
import type { SettingsOf } from '../http-connector/http-system.ts'
import { parseRelease } from './dhis2-api.ts'
import { parseObject, createResponseProblem, toArray, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { overlapSeconds, subtractSeconds } from '../http-connector/paging.ts'
import { parseExactNumber } from '../http-connector/exact-json.ts'

export type Dhis2Settings = SettingsOf<typeof connectorTypes.dhis2>

export interface Dhis2Server {
  /** The full version, such as `2.41.3`. */
  version: string
  /** The minor version, such as 41, or 0 if it is unknown. */
  release: number
  /**
   * The cursor of the next increment: the server's current time minus five minutes. Undefined if the server does not
   * return its time.
   */
  nextCursor: string | undefined
  usesIsoCalendar: boolean
}

/**
 * Reads the version and the time of the server. Throws `SourceProblem`, with the code OTHER_PROTOCOL if the server is
 * not DHIS2.
 */
export async function readServerInfo(http: HttpSession): Promise<Dhis2Server> {
  const me = parseObject(await http.getJson('api/me', { query: { fields: 'id,username' } }), 'DHIS2')
  const info = parseObject(await http.getJson('api/system/info'), 'DHIS2')
  const version = toText(info['version'])
  if (toText(me['id']) === undefined || version === undefined) throw createResponseProblem('DHIS2', 'user and version')
  const date = toText(info['serverDate'])
  const calendar = toText(info['calendar']) ?? 'iso8601'
  return {
    version,
    release: parseRelease(version),
    // Increments overlap, because the server can return a change only some time after its timestamp.
    nextCursor: date && subtractSeconds(date, overlapSeconds),
    usesIsoCalendar: calendar === 'iso8601',
  }
}

/** Returns the ids of the selected organisation units, or those of the account's units if none is selected. */
export async function listUnitIds(http: HttpSession, selected: readonly string[] = []): Promise<readonly string[]> {
  if (selected.length > 0) return selected
  const me = parseObject(await http.getJson('api/me', { query: { fields: 'organisationUnits[id]' } }), 'DHIS2')
  const units = toArray(me['organisationUnits']) as { id?: unknown }[]
  return units.map(({ id }) => toText(id)).filter((id) => id !== undefined)
}

/** The subject of error messages for requests about several selected objects. */
export const selectedObjects = 'One of the selected objects'

/** DHIS2 value types that are always text, even if values look like numbers, such as codes and telephone numbers. */
const textTypePattern =
  /^(TEXT|LONG_TEXT|LETTER|PHONE_NUMBER|EMAIL|USERNAME|ORGANISATION_UNIT|FILE_RESOURCE|IMAGE|URL|MULTI_TEXT|COORDINATE|GEOJSON|REFERENCE|TRACKER_ASSOCIATE)$/

/** True if values of this type are texts. An unknown value type counts as text. */
export const isTextual = (valueType: unknown): boolean =>
  typeof valueType !== 'string' || textTypePattern.test(valueType)

/**
 * Converts a text to a boolean or a number according to its DHIS2 value type. Returns the text unchanged if it does not
 * match the type, or if the type is another one.
 */
export function parseValue(text: string, valueType: unknown): string | boolean | object {
  if (isTextual(valueType)) return text
  if (valueType === 'BOOLEAN' || valueType === 'TRUE_ONLY') {
    if (text === 'true' || text === '1') return true
    if (text === 'false' || text === '0') return false
    return text
  }
  const isNumeric = /NUMBER|INTEGER|PERCENTAGE|INTERVAL/.test(String(valueType))
  return isNumeric ? (parseExactNumber(text) ?? text) : text
}

/** The page size of object lists. */
export const objectsPerPage = 500

/**
 * True if no page follows a page with `objectCount` objects. A full page does not count as the last, even if it has no
 * link to a next page.
 */
export function isLastPage(response: unknown, objectCount: number): boolean {
  if (objectCount === 0) return true
  const { nextPage } = parseObject(parseObject(response, 'DHIS2')['pager'] ?? {}, 'DHIS2')
  const hasLink = toText(nextPage) !== undefined
  return !hasLink && objectCount < objectsPerPage
}
