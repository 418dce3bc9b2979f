import { Type, type TSchema } from 'typebox'

/** A field that people fill in: what a form calls it, what it means, and what it looks like. */
export function field<S extends TSchema>(schema: S, title: string, description: string, ...examples: unknown[]): S {
  return { ...schema, title, description, examples }
}

const oneLine = '^\\P{Cc}*$'

/** A name, an id or a code of the source, as it writes it. */
export const Name = Type.String({ minLength: 1, maxLength: 255, pattern: oneLine })

/** Address of a system. Whether it is allowed is checked when it is called. */
export const Address = Type.String({ minLength: 8, maxLength: 2000, pattern: '^https?://[^\\s\\p{Cc}]+$' })

export const Day = Type.String({ format: 'date', maxLength: 10 })

/** Never answered: absent or null keeps the stored one, an empty text clears it. */
export function secret(title: string, description: string, example: string, most = 1000, pattern = oneLine) {
  return Type.Optional(
    Type.Union([Type.String({ minLength: 1, maxLength: most, pattern }), Type.Null()], {
      title,
      description: `${description} Never answered: absent or null keeps the stored one, an empty text clears it.`,
      examples: [example],
      writeOnly: true,
    }),
  )
}

/** Several of something, each once. */
export const listOfSome = <S extends TSchema>(item: S, { min = 0, most = 1_000 } = {}) =>
  Type.Array(item, { minItems: min, maxItems: most, uniqueItems: true })
