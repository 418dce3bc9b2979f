import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { createAjv } from './ajv.ts'
import type { Contract } from './contract.ts'
import type { FieldViolation } from './problem.ts'
import { isOnlyTooLarge, toViolationList } from './violations.ts'

/** A valid value after type conversion, or the violations. */
export type ContractCheckResult<T> =
  | { value: T }
  | {
      violations: FieldViolation[]
      /** Set if the body is well-formed and only exceeds maximums. */
      onlyTooLarge?: true
    }

// Verbose errors contain the schema, with its `whyRequired` text.
const ajvInstances = { first: createAjv({ verbose: true }), all: createAjv({ allErrors: true, verbose: true }) }

/**
 * The maximum number of values in a request for which all violations are listed. Valid requests rarely contain more.
 */
const maxListedSize = 5_000

/**
 * Returns a function that checks values against the contract. The contract is compiled at the first call. In a body,
 * null means that an optional field is absent. Query parameters are first converted to numbers, booleans and lists. For
 * large values only the first violation is reported, because a hostile megabyte can contain 100,000.
 */
export function createContractChecker<T>(
  contract: Contract<T>,
  kind: 'body' | 'query' = 'body',
): (value: unknown) => ContractCheckResult<T> {
  let findFirstError: ValidateFunction | undefined
  let findAllErrors: ValidateFunction | undefined
  return (input) => {
    const value =
      kind === 'query'
        ? convertQueryValues(contract, input as Record<string, unknown>)
        : removeNulls(contract as JsonSchema, input)
    findFirstError ??= ajvInstances.first.compile(contract)
    const isValid = findFirstError(value)
    if (isValid) return { value: value as T }
    const isLarge = countValues(value, maxListedSize) >= maxListedSize
    if (isLarge) return toFailedResult(findFirstError.errors ?? [], kind)
    findAllErrors ??= ajvInstances.all.compile(contract)
    findAllErrors(value)
    return toFailedResult(findAllErrors.errors ?? [], kind)
  }
}

const toFailedResult = (errors: ErrorObject[], kind: 'body' | 'query') => ({
  violations: toViolationList(errors),
  ...(kind === 'body' && isOnlyTooLarge(errors) && { onlyTooLarge: true as const }),
})

/**
 * Returns 1 plus the number of all values inside `value`. Every 64 characters of a text count as one more. Stops
 * counting at `limit`.
 */
function countValues(value: unknown, limit: number): number {
  if (typeof value === 'string') return 1 + Math.floor(value.length / 64)
  if (value === null || typeof value !== 'object') return 1
  let size = 1
  for (const name in value) {
    if (size >= limit) return size
    size += countValues((value as Record<string, unknown>)[name], limit - size)
  }
  return size
}

type ValueReader = (text: string) => unknown

/** Converts only decimal numbers, because JavaScript's `Number` also accepts 0x10, 1e3 and Infinity. */
const readNumber: ValueReader = (text) => (/^-?\d{1,16}(\.\d{1,16})?$/.test(text) ? Number(text) : text)
const readBoolean: ValueReader = (text) => (text === 'true' || text === 'false' ? text === 'true' : text)

const valueReaders: Record<string, ValueReader> = { integer: readNumber, number: readNumber, boolean: readBoolean }

/**
 * Converts query parameters to the types of the contract: numbers, booleans, and lists with one item. Text that cannot
 * be converted stays unchanged, so that the contract rejects it.
 */
function convertQueryValues(contract: Contract<unknown>, query: Record<string, unknown>): Record<string, unknown> {
  const properties =
    (contract as { properties?: Record<string, { type?: string; items?: { type?: string } }> }).properties ?? {}
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => {
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (schema?.type !== 'array') return [name, convertText(value, schema?.type)]
      const list = Array.isArray(value) ? value : [value]
      return [name, list.map((item) => convertText(item, schema.items?.type))]
    }),
  )
}

const convertText = (value: unknown, type = ''): unknown => {
  const read = valueReaders[type]
  return typeof value === 'string' && read ? read(value) : value
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
 * Removes null values of optional fields from a body, because null means absent. Replaces an empty text in the field of
 * a stored secret by null, upon which handlers delete the secret. Returns the same object if nothing changes.
 */
function removeNulls(schema: JsonSchema | undefined, value: unknown): unknown {
  if (schema === undefined || value === null || typeof value !== 'object') return value
  const matchingSchema = findMatchingSchema(schema, value)
  if (!Array.isArray(value)) return matchingSchema?.properties ? removeNullFields(matchingSchema, value) : value
  const items = value.map((item) => removeNulls(matchingSchema?.items, item))
  return items.some((item, index) => item !== value[index]) ? items : value
}

/** Converts the fields of an object as `removeNulls` does. Fields that the schema does not know stay unchanged. */
function removeNullFields({ properties = {}, required = [] }: JsonSchema, value: object): unknown {
  let isChanged = false
  const fields: [string, unknown][] = []
  for (const [name, fieldValue] of Object.entries(value)) {
    const fieldSchema = Object.hasOwn(properties, name) ? properties[name] : undefined
    const isAbsent = fieldSchema !== undefined && fieldValue === null && !required.includes(name)
    const deletesSecret = fieldSchema !== undefined && fieldValue === '' && isStoredSecret(fieldSchema)
    const converted = deletesSecret ? null : removeNulls(fieldSchema, fieldValue)
    if (!isAbsent) fields.push([name, converted])
    if (isAbsent || converted !== fieldValue) isChanged = true
  }
  return isChanged ? Object.fromEntries(fields) : value
}

/**
 * Returns the schema that applies to an object or list: the matching member of a union, otherwise the schema itself.
 * Returns undefined if no member matches.
 */
function findMatchingSchema(schema: JsonSchema, value: object): JsonSchema | undefined {
  const { oneOf, anyOf, discriminator } = schema
  if (oneOf && discriminator) {
    const { propertyName } = discriminator
    const tag = Object.hasOwn(value, propertyName) ? (value as Record<string, unknown>)[propertyName] : undefined
    return oneOf.find(({ properties }) => properties?.[propertyName]?.const === tag)
  }
  if (anyOf) return anyOf.find(({ type }) => type === (Array.isArray(value) ? 'array' : 'object'))
  return schema
}

/** Returns whether a field is a stored secret: it stays stored if it is absent, and an empty text deletes it. */
export const isStoredSecret = ({ writeOnly, anyOf = [] }: JsonSchema): boolean =>
  writeOnly === true && anyOf.some(({ type }) => type === 'null')
