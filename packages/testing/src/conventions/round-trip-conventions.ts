import { createContractChecker, isStoredSecret, type OperationSignature } from '@sluice/contracts'

type Json = any

/** A body contract and a response contract with the same properties. */
export interface Echo {
  body: Json
  response: Json
}

/**
 * Returns a sentence for each property that breaks a rule. A response must accept all values that the body accepts;
 * otherwise a stored object could not be returned. A body must accept all values of the response, so that the
 * response of a GET can be sent with PUT. Values are generated from the schemas.
 */
export function brokenEchoRules(echoes: readonly Echo[]): string[] {
  return [...new Set(echoes.flatMap(({ body, response }) => brokenFields(body, response)))]
}

/** Returns the body and response contracts of every write, or of the items in their lists. */
export function echoesOf(signatures: readonly OperationSignature[]): Echo[] {
  return signatures
    .filter(({ effect, body, response }) => effect === 'write' && body && response)
    .flatMap(({ body, response }) => variantsOf(body, itemOf(response)))
}

const itemOf = (contract: Json): Json => (contract.type === 'array' ? contract.items : contract)

function variantsOf(body: Json, response: Json): Echo[] {
  const sent = itemOf(body)
  if (!sent.oneOf || !response.oneOf) return [{ body: sent, response }]
  const typeOf = ({ properties }: Json) => properties.type.const as string
  return sent.oneOf.map((variant: Json) => ({
    body: variant,
    response: response.oneOf.find((one: Json) => typeOf(one) === typeOf(variant)),
  }))
}

function brokenFields(body: Json, response: Json, at = { body: body?.title, response: response?.title }): string[] {
  if (!body?.properties || !response?.properties) return []
  return Object.entries<Json>(body.properties).flatMap(([name, sent]) => {
    const answered = response.properties[name]
    if (answered === undefined || isReference(sent)) return []
    const within = { body: `${at.body}/${name}`, response: `${at.response}/${name}` }
    // An ignored field is never stored, but the body must accept it.
    if (sent.readOnly)
      return refusals(answered, sent).map((value) => `${within.body} rejects a value of ${at.response}: ${value}`)
    const [one, other] = sent.type === 'array' ? [sent.items, answered.items] : [sent, answered]
    if (one?.properties && other?.properties) return brokenFields(one, other, within)
    return refusals(sent, answered).map((value) => `${within.response} rejects a value of ${at.body}: ${value}`)
  })
}

/** True if a property is a reference: bodies contain only the id of the object, responses the whole object. */
const isReference = (schema: Json): boolean =>
  (schema.type === 'object' && schema.additionalProperties !== false) ||
  (schema.type === 'array' && isReference(schema.items ?? {})) ||
  (schema.anyOf ?? []).some(isReference)

/** Results by pair of schemas. Contracts share properties, so the cache avoids comparing a pair twice. */
const cache = new WeakMap<object, WeakMap<object, string[]>>()

/** Returns at most three values that the first schema accepts and the second rejects. */
function refusals(accepting: Json, rejecting: Json): string[] {
  const cachedByRejecting = cache.get(accepting) ?? new WeakMap<object, string[]>()
  cache.set(accepting, cachedByRejecting)
  const values = cachedByRejecting.get(rejecting) ?? findRefusals(accepting, rejecting)
  cachedByRejecting.set(rejecting, values)
  return values
}

function findRefusals(accepting: Json, rejecting: Json): string[] {
  const [accepts, rejects] = [accepting, rejecting].map((schema) => createContractChecker(inObject(schema)))
  return (
    valuesOf(accepting)
      // Null means absent, and an empty text deletes a stored secret. Neither value is stored, so responses need not
      // accept them.
      .filter((value) => value !== null && !(value === '' && isStoredSecret(accepting)))
      .filter((value) => 'value' in accepts!({ value }))
      .filter((value) => !('value' in rejects!({ value })))
      .slice(0, 3)
      .map((value) => JSON.stringify(value)?.slice(0, 60) ?? 'undefined')
  )
}

const inObject = (schema: Json) => ({ type: 'object', properties: { value: schema }, required: ['value'] }) as Json

const pieces = [
  'a',
  'Ä',
  '漢',
  '😀',
  ' ',
  '\n',
  '\t',
  '\u0085',
  '"',
  '\\',
  '<',
  '{',
  '}',
  '/',
  ':',
  '-',
  '_',
  '.',
  '@',
  '0',
  'A',
]
const familiar = [
  'name',
  'field_1',
  'ida@example.org',
  'é@dömäin.org',
  'a@example.org, b@example.org',
  'https://data.example.org/',
  'Europe/Oslo',
  '2f1c8f0e-5f0b-4c7e-9b44-0d9c7e1f5a10',
  '2026-11-24T10:00:00.000Z',
  '2026-11-24',
  'fr',
  '2026',
]

/** Returns values at the bounds of a schema, and with various characters. The schema need not accept all of them. */
function valuesOf(schema: Json, depth = 0): unknown[] {
  const { type, enum: values, const: only, anyOf, oneOf, items, properties, required = [] } = schema
  if (only !== undefined) return [only]
  if (values) return values
  if (anyOf ?? oneOf) return (anyOf ?? oneOf).flatMap((one: Json) => valuesOf(one, depth))
  if (type === 'boolean') return [true, false]
  if (type === 'null') return [null]
  if (type === 'integer' || type === 'number') return [schema.minimum ?? 0, schema.maximum ?? 0, 1, 2]
  if (type === 'string') return textsOf(schema)
  if (type === 'array' && items && depth < 3) return [[], ...valuesOf(items, depth + 1).map((item) => [item])]
  if (type === 'object' && properties && depth < 3) {
    const all = Object.entries<Json>(properties).map(([name, one]) => [name, valuesOf(one, depth + 1)] as const)
    const least = Object.fromEntries(
      all.filter(([name]) => required.includes(name)).map(([name, some]) => [name, usable(properties[name], some)]),
    )
    return [least, ...all.flatMap(([name, some]) => some.map((value) => ({ ...least, [name]: value })))]
  }
  return []
}

function usable(schema: Json, values: unknown[]): unknown {
  const check = createContractChecker(inObject(schema))
  return values.find((value) => 'value' in check({ value }))
}

function textsOf({ minLength = 0, maxLength = 100, examples = [] }: Json): string[] {
  const length = Math.max(minLength, 1)
  const longest = Math.min(maxLength, 20_000)
  const padded = (text: string, size: number) => text + 'a'.repeat(Math.max(0, size - text.length))
  return [
    '',
    ...examples,
    ...familiar,
    'a'.repeat(length),
    'a'.repeat(longest),
    ...pieces.flatMap((piece) => [
      piece,
      padded(piece, length),
      padded(`a${piece}`, length + 1),
      piece.repeat(length + 1),
    ]),
  ]
}
