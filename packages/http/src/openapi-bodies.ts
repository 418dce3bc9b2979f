import { isStoredSecret } from '@sluice/contracts'

type Json = any

/** The titles of all objects in a contract. */
export function titlesIn(schema: Json, seen = new Set<object>()): string[] {
  if (schema === null || typeof schema !== 'object' || seen.has(schema)) return []
  seen.add(schema)
  const own = typeof schema.title === 'string' ? [schema.title] : []
  return [...own, ...Object.values(schema).flatMap((part) => titlesIn(part, seen))]
}

/**
 * Bodies as the reference shows them: an optional field may be null too, which is the same as its absence, and a stored secret may be
 * an empty text, which clears it. An object that responses have under the same title gets a title of its own in bodies.
 */
export function nullableFields(titlesOfResponses: ReadonlySet<string>) {
  const known = new Map<object, Json>()

  function transformed(schema: Json): Json {
    if (Array.isArray(schema)) return schema.map(transformed)
    if (schema === null || typeof schema !== 'object') return schema
    const before = known.get(schema)
    if (before) return before
    const after = { ...schema }
    known.set(schema, after)
    for (const key of ['items', 'anyOf', 'oneOf', 'allOf']) if (schema[key]) after[key] = transformed(schema[key])
    if (!schema.properties) return after
    const { required = [] } = schema
    const fields = Object.entries<Json>(schema.properties)
    after.properties = Object.fromEntries(
      fields.map(([name, field]) => [name, required.includes(name) ? transformed(field) : orNull(transformed(field))]),
    )
    if (titlesOfResponses.has(schema.title) && JSON.stringify(after) !== JSON.stringify(schema))
      after.title = `${schema.title}Body`
    return after
  }

  return transformed
}

function orNull(field: Json): Json {
  const { type, enum: values, anyOf, oneOf, title, properties } = field
  if (anyOf) {
    const cleared = isStoredSecret(field) ? [{ type: 'string', maxLength: 0 }] : []
    const hasNull = anyOf.some((one: Json) => one.type === 'null')
    return { ...field, anyOf: [...anyOf, ...cleared, ...(hasNull ? [] : [{ type: 'null' }])] }
  }
  if (oneOf || (title && properties)) return { anyOf: [field, { type: 'null' }] }
  if (values) return { ...field, enum: [...values, null], ...(type && { type: [type, 'null'] }) }
  return typeof type === 'string' ? { ...field, type: [type, 'null'] } : field
}
