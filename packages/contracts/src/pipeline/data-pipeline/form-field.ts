import { Type, type TSchema } from 'typebox'

/** Adds the label, the description and examples of a form field to a schema. */
export function describeField<S extends TSchema>(
  schema: S,
  title: string,
  description: string,
  ...examples: unknown[]
): S {
  return { ...schema, title, description, examples }
}

const oneLine = '^\\P{Cc}*$'

/** A name, id or code, spelled exactly as in the source. */
export const SourceName = Type.String({ minLength: 1, maxLength: 255, pattern: oneLine })

/** The URL of a system. Every request to it checks whether the address is allowed. */
export const SourceUrl = Type.String({ minLength: 8, maxLength: 2000, pattern: '^https?://[^\\s\\p{Cc}]+$' })

export const CalendarDate = Type.String({ format: 'date', maxLength: 10 })

/**
 * Returns the schema of a secret. Responses leave it out; an absent or null value keeps the stored one; an empty text
 * deletes it.
 */
export function defineSecretField(
  title: string,
  description: string,
  example: string,
  maxLength = 1000,
  pattern = oneLine,
) {
  return Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength, pattern }), Type.Null()], {
      title,
      description: `${description} Responses omit it. An absent or null value keeps the stored one; an empty text deletes it.`,
      examples: [example],
      writeOnly: true,
    }),
  )
}

/** Returns the schema of a list without duplicates. */
export const listOfSome = <S extends TSchema>(item: S, { min = 0, most = 1_000 } = {}) =>
  Type.Array(item, { minItems: min, maxItems: most, uniqueItems: true })
