import { SourceProblem } from '@sluice/row-stream'
import type { SourceOption } from '../connector.ts'

/** Returns the response if it is an object. Otherwise throws `SourceProblem` OTHER_PROTOCOL. */
export function parseObject(response: unknown, system: string): Readonly<Record<string, unknown>> {
  if (typeof response === 'object' && response !== null && !Array.isArray(response))
    return response as Record<string, unknown>
  throw createResponseProblem(system, 'object')
}

/**
 * Returns the list in the field `key` of a response, or the response itself if `key` is absent. Throws `SourceProblem`
 * OTHER_PROTOCOL if it is not a list.
 */
export function parseList(response: unknown, system: string, key?: string): readonly unknown[] {
  const list = key === undefined ? response : parseObject(response, system)[key]
  if (Array.isArray(list)) return list as unknown[]
  throw createResponseProblem(system, key === undefined ? 'list' : `list under "${key}"`)
}

/**
 * Returns the text in the field `key` of a response, such as a token. Throws `SourceProblem` OTHER_PROTOCOL if it is
 * missing.
 */
export function parseText(response: unknown, system: string, key: string): string {
  const text = toText(parseObject(response, system)[key])
  if (text !== undefined) return text
  throw createResponseProblem(system, key)
}

export const createResponseProblem = (system: string, expected: string): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    `The response of ${system} lacks the expected ${expected}. Check the address, and that Sluice supports this version of the API.`,
  )

/** Returns a text, or a number as text. Returns undefined for an empty text and for other values. */
export function toText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns a list, or an empty list for any other value. */
export const toArray = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

/**
 * Returns a list with one option, or an empty list if the id is missing. A missing code or name is replaced by the id.
 */
export function createOption(id: unknown, { code, name }: { code?: unknown; name?: unknown }): SourceOption[] {
  const optionId = toText(id)
  if (optionId === undefined) return []
  return [{ id: optionId, code: toText(code) ?? optionId, name: toText(name) ?? optionId }]
}

export const compareNames = (first: SourceOption, second: SourceOption): number =>
  first.name.localeCompare(second.name, 'en')

interface RawLocation {
  latitude: unknown
  longitude: unknown
  altitude: unknown
  accuracy: unknown
}

/** Returns those coordinates of a location that are numbers. */
export const createLocation = (location: RawLocation): object =>
  Object.fromEntries(Object.entries(location).filter(([, value]) => Number.isFinite(value)))

/** Parses a geopoint: `latitude longitude altitude accuracy`. */
export function parseGeopoint(text: string): object {
  const [latitude, longitude, altitude, accuracy] = text.trim().split(/\s+/).map(Number)
  return createLocation({ latitude, longitude, altitude, accuracy })
}
