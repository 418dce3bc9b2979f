import type { Static, TSchema } from 'typebox'

/**
 * A JSON Schema together with the TypeScript type of its valid values. `~typeOf` exists only for the type; no value has
 * it.
 */
export type Contract<T> = object & { readonly '~typeOf'?: T }

export type TypeOf<C> = C extends Contract<infer T> ? T : never

/** Gives a schema the title that OpenAPI and the documentation show. */
export function defineContract<S extends TSchema>(title: string, schema: S): S & Contract<Static<S>> {
  return Object.assign(schema, { title })
}

/** Returns the contract of a list. A list contains at most one page, so its maximum length is the largest page size. */
export function listOf<T>(item: Contract<T>): Contract<T[]> {
  return { type: 'array', items: item, maxItems: 1000 } as Contract<T[]>
}

/** Schema options that reject unknown fields of an object. */
export const noUnknownFields = { additionalProperties: false } as const

/**
 * Returns the contract of a union. The field `type` selects the variant, and only that variant's violations are
 * reported. If the variants do not require `type`, an object without it is only checked for the fields that all
 * variants require; its handler then selects the variant.
 */
export function discriminatedUnion<const V extends readonly Contract<any>[]>(
  title: string,
  variants: V,
): Contract<TypeOf<V[number]>> {
  const union = { discriminator: { propertyName: 'type' }, oneOf: variants }
  return { type: 'object', maxProperties: 200, ...union, title } as Contract<TypeOf<V[number]>>
}
