/** JSON Schema, as far as it is looked at here. */
interface Schema {
  type?: string
  properties?: Record<string, Schema>
  enum?: unknown[]
  const?: unknown
  maxLength?: number
  /** Variants that their `type` tells apart. */
  oneOf?: Schema[]
  /** Of a list. */
  items?: Schema
}

const demanding = (schema: Schema): boolean => Boolean(schema.type ?? schema.enum ?? schema.const !== undefined)

/** A body in which every field is of the wrong type and one is not known, and where that has to be said. */
export function wrongBody(contract: object): { body: object; pointers: string[] } {
  const { items } = contract as Schema
  if (items) {
    const { body, pointers } = wrongBody(items)
    return { body: [body], pointers: pointers.map((pointer) => `/0${pointer}`) }
  }
  const [variant] = (contract as Schema).oneOf ?? []
  if (variant) {
    const { type, ...others } = variant.properties!
    const { body, pointers } = wrongBody({ properties: others })
    return { body: { ...body, type: type!.const }, pointers }
  }
  const fields = Object.entries((contract as Schema).properties ?? {}).filter(([, schema]) => demanding(schema))
  const wrong = ({ type }: Schema) => (type === 'object' ? 'text' : { an: 'object' })
  return {
    body: {
      ...Object.fromEntries(fields.map(([name, schema]) => [name, wrong(schema)])),
      'no/such~field': 1,
    },
    pointers: [...fields.map(([name]) => `/${name}`), '/no~1such~0field'],
  }
}

/** Likewise a query. Anything is text there, so text without an upper bound in reach is left alone. */
export function wrongQuery(contract: object): { query: string; pointers: string[] } {
  const all = Object.entries((contract as Schema).properties ?? {})
  const fields = all.filter(([, { type, enum: values }]) => values ?? (type && type !== 'array'))
  const wrong = ({ type, maxLength = 0 }: Schema) => (type === 'string' ? 'x'.repeat(maxLength + 1) : 'neither')
  const query = new URLSearchParams(fields.map(([name, schema]): [string, string] => [name, wrong(schema)]))
  query.set('colour', 'red')
  return { query: `?${query}`, pointers: [...fields.map(([name]) => `/${name}`), '/colour'] }
}
