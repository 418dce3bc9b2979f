import type { Contract } from './contract.ts'

type Read = (text: string) => unknown

/** Decimal only: what JavaScript also takes for a number (0x10, 1e3, Infinity) is nobody's page. */
const number: Read = (text) => (/^-?\d{1,16}(\.\d{1,16})?$/.test(text) ? Number(text) : text)
const boolean: Read = (text) => (text === 'true' ? true : text === 'false' ? false : text)

const readers: Record<string, Read> = { integer: number, number, boolean }

/**
 * A query string's texts as the values that its contract's properties want: numbers, booleans, and lists of one. What does
 * not read as such stays as it is, for the contract to refuse.
 */
export function queryValues(contract: Contract<unknown>, query: Record<string, unknown>): Record<string, unknown> {
  const properties =
    (contract as { properties?: Record<string, { type?: string; items?: { type?: string } }> }).properties ?? {}
  return Object.fromEntries(
    Object.entries(query).map(([name, given]) => {
      const wanted = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (wanted?.type !== 'array') return [name, valueOf(given, wanted?.type)]
      const list = Array.isArray(given) ? given : [given]
      return [name, list.map((item) => valueOf(item, wanted.items?.type))]
    }),
  )
}

const valueOf = (given: unknown, type = ''): unknown => {
  const read = readers[type]
  return typeof given === 'string' && read ? read(given) : given
}
