import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { ajvWith } from './ajv.ts'
import type { Contract } from './contract.ts'
import type { Violation } from './problem.ts'
import { isOnlyTooLarge, violationsOf } from './violations.ts'

/** A checked value, or its violations. */
export type ContractCheckResult<T> =
  | { value: T }
  | {
      violations: Violation[]
      /** True for a well-formed body that only exceeds upper bounds. */
      onlyTooLarge?: true
    }

// Verbose errors contain the schema, which says why a field is required.
const validators = { first: ajvWith({ verbose: true }), all: ajvWith({ allErrors: true, verbose: true }) }

/** Maximum size in values and names for which all violations are listed; valid requests are rarely larger. */
const maxListedSize = 5_000

/**
 * Returns a function that checks values against the contract; it compiles the contract on its first call. In a body, null equals the
 * absence of an optional field. In a query string, numbers, booleans and lists are converted first.
 * Validation stops at the first violation. Only values of ordinary size are then checked for all violations, because a hostile
 * megabyte can contain a hundred thousand.
 */
export function checker<T>(
  contract: Contract<T>,
  kind: 'body' | 'query' = 'body',
): (value: unknown) => ContractCheckResult<T> {
  let first: ValidateFunction | undefined
  let all: ValidateFunction | undefined
  return (given) => {
    const refusalOf = (errors: ErrorObject[]) => ({
      violations: violationsOf(errors),
      ...(kind === 'body' && isOnlyTooLarge(errors) && { onlyTooLarge: true as const }),
    })
    const value =
      kind === 'query'
        ? queryValues(contract, given as Record<string, unknown>)
        : withoutNulls(contract as JsonSchema, given)
    first ??= validators.first.compile(contract)
    if (first(value)) return { value: value as T }
    if (sizeOf(value, maxListedSize) >= maxListedSize) return refusalOf(first.errors ?? [])
    all ??= validators.all.compile(contract)
    all(value)
    return refusalOf(all.errors ?? [])
  }
}

/** Returns the number of values, counting 64 characters of text as one. Stops at `most`. */
function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return 1 + (value.length >> 6)
  if (value === null || typeof value !== 'object') return 1
  let size = 1
  for (const name in value) {
    if (size >= most) return size
    size += sizeOf((value as Record<string, unknown>)[name], most - size)
  }
  return size
}

type ValueReader = (text: string) => unknown

/** Accepts decimal numbers only, not the other forms of JavaScript (0x10, 1e3, Infinity). */
const number: ValueReader = (text) => (/^-?\d{1,16}(\.\d{1,16})?$/.test(text) ? Number(text) : text)
const boolean: ValueReader = (text) => (text === 'true' ? true : text === 'false' ? false : text)

const readers: Record<string, ValueReader> = { integer: number, number, boolean }

/**
 * Converts the texts of a query string to the types of the contract's properties: numbers, booleans, and lists of one. Texts
 * that cannot be converted stay unchanged, so that the contract rejects them.
 */
function queryValues(contract: Contract<unknown>, query: Record<string, unknown>): Record<string, unknown> {
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

/** The parts of JSON Schema that this module uses. */
interface JsonSchema {
  type?: string | undefined
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  discriminator?: { propertyName: string }
  const?: unknown
  writeOnly?: boolean
}

/**
 * Returns a body without null values of optional fields, because null means the same as absence. An empty text for a stored secret
 * becomes null, so that handlers delete the secret; an absent secret stays stored. Returns the same object if nothing changes.
 */
function withoutNulls(schema: JsonSchema | undefined, value: unknown): unknown {
  if (schema === undefined || value === null || typeof value !== 'object') return value
  const found = matchingBranch(schema, value)
  if (Array.isArray(value)) {
    const items = value.map((item) => withoutNulls(found?.items, item))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  if (!found?.properties) return value
  const { properties, required = [] } = found
  let changed = false
  const entries = Object.entries(value).flatMap(([name, part]): [string, unknown][] => {
    const field = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (field && part === null && !required.includes(name)) {
      changed = true
      return []
    }
    const kept = field && part === '' && isStoredSecret(field) ? null : withoutNulls(field, part)
    if (kept !== part) changed = true
    return [[name, kept]]
  })
  return changed ? Object.fromEntries(entries) : value
}

/** Returns the schema of a union that applies to an object or a list. */
function matchingBranch(schema: JsonSchema, value: object): JsonSchema | undefined {
  const { oneOf, anyOf, discriminator } = schema
  if (oneOf && discriminator) {
    const { propertyName } = discriminator
    const tag = Object.hasOwn(value, propertyName) ? (value as Record<string, unknown>)[propertyName] : undefined
    return oneOf.find(({ properties }) => properties?.[propertyName]?.const === tag)
  }
  if (anyOf) return anyOf.find(({ type }) => type === (Array.isArray(value) ? 'array' : 'object'))
  return schema
}

/** Whether a field is a secret that an absent value keeps and that can be deleted. */
export const isStoredSecret = ({ writeOnly, anyOf = [] }: JsonSchema): boolean =>
  writeOnly === true && anyOf.some(({ type }) => type === 'null')
