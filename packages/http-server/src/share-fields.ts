type Schema = any

/** Occurrences from which a field becomes a component, and the characters of such a field at least. */
const minOccurrences = 10
const minCharacters = 120

/**
 * Moves fields that many components repeat, with the same name and schema, into components of their own, and refers to them. The
 * document describes the same values and is a fifth shorter.
 */
export function shareFields(schemas: Record<string, Schema>): Record<string, Schema> {
  const occurrences = new Map<string, { name: string; count: number; schema: Schema }>()
  for (const schema of Object.values(schemas))
    visitFields(schema, (name, field) => {
      if (field.$ref) return
      const text = JSON.stringify([name, field])
      const known = occurrences.get(text) ?? { name, count: 0, schema: field }
      known.count += 1
      occurrences.set(text, known)
    })
  const shared: Record<string, Schema> = {}
  const names = new Map<string, string>()
  for (const [text, { name, count, schema }] of occurrences) {
    if (count < minOccurrences || text.length < minCharacters) continue
    const free = nameOf(name, schema, (candidate) => candidate in schemas || candidate in shared)
    shared[free] = schema
    names.set(text, free)
  }
  const referTo = (field: Schema, name: string) => {
    const component = names.get(JSON.stringify([name, field]))
    return component === undefined ? field : { $ref: `#/components/schemas/${component}` }
  }
  const rewritten = Object.entries(schemas).map(([name, schema]) => [name, mapFields(schema, referTo)] as const)
  return Object.fromEntries([...rewritten, ...Object.entries(shared)])
}

/** Returns a name that is not taken, such as `RunTriggerField`, or `RunTriggerFieldOrNull` for a field that may be null. */
function nameOf(field: string, { type }: Schema, isTaken: (name: string) => boolean): string {
  const orNull = Array.isArray(type) && type.includes('null') ? 'OrNull' : ''
  const name = `${field[0]!.toUpperCase()}${field.slice(1)}Field${orNull}`
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}${number}`
    if (!isTaken(candidate)) return candidate
  }
}

/** Calls `visit` for the fields of an object schema, and of the objects inside it. */
function visitFields(schema: Schema, visit: (name: string, field: Schema) => void): void {
  mapFields(schema, (field, name) => {
    visit(name, field)
    return field
  })
}

/** Returns the schema with other fields. Fields inside of a changed field stay as they are. */
function mapFields(schema: Schema, change: (field: Schema, name: string) => Schema): Schema {
  if (Array.isArray(schema)) return schema.map((item) => mapFields(item, change))
  if (schema === null || typeof schema !== 'object') return schema
  return Object.fromEntries(
    Object.entries<Schema>(schema).map(([key, value]) => {
      if (key !== 'properties' || typeof value !== 'object') return [key, mapFields(value, change)]
      const fields = Object.entries<Schema>(value).map(([name, field]) => {
        const changed = change(field, name)
        return [name, changed === field ? mapFields(field, change) : changed]
      })
      return [key, Object.fromEntries(fields)]
    }),
  )
}
