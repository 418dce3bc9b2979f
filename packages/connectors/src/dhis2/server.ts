import { releaseOf } from './requests.ts'
import { parseObject, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { overlapSeconds } from '../http-connector/http-system.ts'
import { subtractSeconds } from '../http-connector/paging.ts'
import { exactNumber } from '../http-connector/exact-json.ts'

export interface Dhis2Server {
  /** Full version: `2.41.3`. */
  version: string
  /** The minor version: 41; 0 if unknown. */
  release: number
  /**
   * The server's clock minus some minutes: the cursor from which the next increment continues. Undefined if the server does
   * not return its time.
   */
  from: string | undefined
  isoCalendar: boolean
}

/** Reads the account and the version. Throws `SourceProblem`; OTHER_PROTOCOL if the server is not DHIS2. */
export async function readServer(http: HttpSession): Promise<Dhis2Server> {
  const me = parseObject(await http.getJson('api/me', { query: { fields: 'id,username' } }), 'DHIS2')
  const info = parseObject(await http.getJson('api/system/info'), 'DHIS2')
  const version = toText(info['version'])
  if (toText(me['id']) === undefined || version === undefined) throw createResponseProblem('DHIS2', 'user and version')
  const date = toText(info['serverDate'])
  const calendar = toText(info['calendar']) ?? 'iso8601'
  return {
    version,
    release: releaseOf(version),
    from: date && subtractSeconds(date, overlapSeconds),
    isoCalendar: calendar === 'iso8601',
  }
}

/** Returns the selected organisation units, or those of the account if the settings select none. */
export async function findUnits(http: HttpSession, chosen: readonly string[] = []): Promise<readonly string[]> {
  if (chosen.length > 0) return chosen
  const me = parseObject(await http.getJson('api/me', { query: { fields: 'organisationUnits[id]' } }), 'DHIS2')
  const units = Array.isArray(me['organisationUnits']) ? (me['organisationUnits'] as { id?: unknown }[]) : []
  return units.map(({ id }) => toText(id)).filter((id) => id !== undefined)
}

/** Value types that are always text: codes, telephone numbers, names. */
const isText =
  /^(TEXT|LONG_TEXT|LETTER|PHONE_NUMBER|EMAIL|USERNAME|ORGANISATION_UNIT|FILE_RESOURCE|IMAGE|URL|MULTI_TEXT|COORDINATE|GEOJSON|REFERENCE|TRACKER_ASSOCIATE)$/

export const isTextual = (valueType: unknown): boolean => typeof valueType !== 'string' || isText.test(valueType)

/** Converts a text of DHIS2 by its value type; a text that does not match the type stays text. */
export function valueOf(text: string, valueType: unknown): string | boolean | object {
  if (isTextual(valueType)) return text
  if (valueType === 'BOOLEAN' || valueType === 'TRUE_ONLY')
    return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text
  return /NUMBER|INTEGER|PERCENTAGE|INTERVAL/.test(String(valueType)) ? (exactNumber(text) ?? text) : text
}
