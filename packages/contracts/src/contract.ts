import type { Static, TSchema } from 'typebox'

declare const described: unique symbol

/** A JSON Schema that carries the TypeScript type it describes. */
export type Contract<T> = object & { readonly [described]?: T }

export type TypeOf<C> = C extends Contract<infer T> ? T : never

/** Names a schema. OpenAPI, validation problems and the documentation show the title. */
export function contract<S extends TSchema>(title: string, schema: S): S & Contract<Static<S>> {
  return Object.assign(schema, { title })
}

/** Lists return at most one page, so the page size is their maximum length. */
export function listOf<T>(item: Contract<T>): Contract<T[]> {
  return { type: 'array', items: item, maxItems: 1000 } as Contract<T[]>
}

/** For objects without additional fields. */
export const closed = { additionalProperties: false } as const

/**
 * A union discriminated by `type`. Violations are those of the variant that the type names. If no variant requires its type, an
 * object without one is checked for the fields that all variants require, and the handler selects the variant.
 */
export function discriminated<const V extends readonly Contract<any>[]>(
  title: string,
  variants: V,
): Contract<TypeOf<V[number]>> {
  const union = { discriminator: { propertyName: 'type' }, oneOf: variants }
  return { type: 'object', maxProperties: 200, ...union, title } as Contract<TypeOf<V[number]>>
}
