import { Type, type TSchema } from 'typebox'

/** A form field: its label, its description, and an example. */
export function field<S extends TSchema>(schema: S, title: string, description: string, ...examples: unknown[]): S {
  return { ...schema, title, description, examples }
}

const oneLine = '^\\P{Cc}*$'

/** A name, an id or a code of the source, as the source spells it. */
export const Name = Type.String({ minLength: 1, maxLength: 255, pattern: oneLine })

/** Address of a system. Each request checks whether it is allowed. */
export const Address = Type.String({ minLength: 8, maxLength: 2000, pattern: '^https?://[^\\s\\p{Cc}]+$' })

export const Day = Type.String({ format: 'date', maxLength: 10 })

/** A secret, which responses omit: absent or null keeps the stored one, an empty text deletes it. */
export function secret(title: string, description: string, example: string, most = 1000, pattern = oneLine) {
  return Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: most, pattern }), Type.Null()], {
      title,
      description: `${description} Never returned: absent or null keeps the stored one, an empty text deletes it.`,
      examples: [example],
      writeOnly: true,
    }),
  )
}

/** A list of unique items. */
export const listOfSome = <S extends TSchema>(item: S, { min = 0, most = 1_000 } = {}) =>
  Type.Array(item, { minItems: min, maxItems: most, uniqueItems: true })
