import { exactNumber } from '../tables/exact-numbers.ts'

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
