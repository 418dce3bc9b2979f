import { releaseOf } from '../../../dhis2/requests.ts'
import { fieldsOf, strange, textOf } from '../http/answers.ts'
import type { Http } from '../http/connection.ts'
import { overlapSeconds } from '../system.ts'
import { before } from '../tables/moments.ts'
import { exactNumber } from '../tables/exact-numbers.ts'

export interface Server {
  /** As it calls itself: `2.41.3`. */
  version: string
  /** The part of it that counts: 41; 0 where it cannot be told. */
  release: number
  /** Its clock some minutes ago: where a reading that begins now is gone on from later. Undefined where it does not say. */
  from: string | undefined
  /** Whether its periods are those of the calendar that everybody has. */
  isoCalendar: boolean
}

/** Who is signed in, and what it is that answers. Throws `SourceProblem`; OTHER_PROTOCOL where it is no DHIS2. */
export async function serverOf(http: Http): Promise<Server> {
  const me = fieldsOf(await http.json('api/me', { query: { fields: 'id,username' } }), 'DHIS2')
  const info = fieldsOf(await http.json('api/system/info'), 'DHIS2')
  const version = textOf(info['version'])
  if (textOf(me['id']) === undefined || version === undefined) throw strange('DHIS2', 'user and version')
  const date = textOf(info['serverDate'])
  const calendar = textOf(info['calendar']) ?? 'iso8601'
  return {
    version,
    release: releaseOf(version),
    from: date && before(date, overlapSeconds),
    isoCalendar: calendar === 'iso8601',
  }
}

/** The organisation units that are chosen; those of the account where none are. */
export async function unitsOf(http: Http, chosen: readonly string[] = []): Promise<readonly string[]> {
  if (chosen.length > 0) return chosen
  const me = fieldsOf(await http.json('api/me', { query: { fields: 'organisationUnits[id]' } }), 'DHIS2')
  const units = Array.isArray(me['organisationUnits']) ? (me['organisationUnits'] as { id?: unknown }[]) : []
  return units.map(({ id }) => textOf(id)).filter((id) => id !== undefined)
}

/** What kinds of values are texts whatever they look like: codes, telephone numbers, names. */
const isText =
  /^(TEXT|LONG_TEXT|LETTER|PHONE_NUMBER|EMAIL|USERNAME|ORGANISATION_UNIT|FILE_RESOURCE|IMAGE|URL|MULTI_TEXT|COORDINATE|GEOJSON|REFERENCE|TRACKER_ASSOCIATE)$/

export const isTextual = (valueType: unknown): boolean => typeof valueType !== 'string' || isText.test(valueType)

/** A value, which DHIS2 writes as text, as what its kind says; one that does not keep to that stays a text. */
export function valueOf(text: string, valueType: unknown): string | boolean | object {
  if (isTextual(valueType)) return text
  if (valueType === 'BOOLEAN' || valueType === 'TRUE_ONLY')
    return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : text
  return /NUMBER|INTEGER|PERCENTAGE|INTERVAL/.test(String(valueType)) ? (exactNumber(text) ?? text) : text
}
