/** JSON Schema, as far as it is looked at here. */
export interface Schema {
  type?: string | undefined
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  discriminator?: { propertyName: string }
  const?: unknown
  writeOnly?: boolean
}

/**
 * A body in which no optional field is null, because null is the same as absence. An empty text for a stored secret becomes null, which
 * tells handlers to clear it: absent, it keeps what is stored. Answers the value itself where nothing changes.
 */
export function withoutNulls(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined || value === null || typeof value !== 'object') return value
  const found = branchOf(schema, value)
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

/** Of several schemas, the one that is meant for an object or a list. */
function branchOf(schema: Schema, value: object): Schema | undefined {
  const { oneOf, anyOf, discriminator } = schema
  if (oneOf && discriminator) {
    const { propertyName } = discriminator
    const tag = Object.hasOwn(value, propertyName) ? (value as Record<string, unknown>)[propertyName] : undefined
    return oneOf.find(({ properties }) => properties?.[propertyName]?.const === tag)
  }
  if (anyOf) return anyOf.find(({ type }) => type === (Array.isArray(value) ? 'array' : 'object'))
  return schema
}

/** A secret that is kept where a body leaves it out, and that can be cleared. */
export const isStoredSecret = ({ writeOnly, anyOf = [] }: Schema): boolean =>
  writeOnly === true && anyOf.some(({ type }) => type === 'null')
