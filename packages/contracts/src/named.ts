import { Type, type TProperties, type TSchema } from 'typebox'

export const Timestamp = Type.String({ format: 'date-time', maxLength: 40 })

/** The identifier of an object on the wire. */
export const Uid = Type.String({ format: 'uuid', maxLength: 36 })

/** No control characters: what is one line here must be one line in a log, a mail and a terminal. */
const oneLine = '^\\P{Cc}*$'

/** One line of text, for names and the like. */
export const Line = Type.String({ maxLength: 255, pattern: oneLine, examples: ['A line of text'] })

/** Prose. */
export const Text = Type.String({ maxLength: 10_000 })

/** Empty or an absolute http(s) address. */
export const Link = Type.String({ maxLength: 2000, pattern: '^($|https?://)', examples: ['https://data.example.org/'] })

export const Tags = Type.Array(Type.String({ minLength: 1, maxLength: 100, pattern: oneLine, examples: ['health'] }), {
  uniqueItems: true,
  maxItems: 50,
})

/** Texts of an object in other languages. A property is written as in the object (`name`) or as DHIS2 does (`NAME`). */
const translationsOf = (...properties: string[]) =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          locale: Type.String({ minLength: 2, maxLength: 35, pattern: '^[A-Za-z0-9_-]+$', examples: ['fr', 'pt-BR'] }),
          property: Type.Unsafe<string>(Type.Enum(properties.flatMap((name) => [name, name.toUpperCase()]))),
          value: Type.String({ maxLength: 10_000, examples: ['Qualité de l’air'] }),
        },
        { additionalProperties: false, title: 'Translation' },
      ),
      { uniqueItems: true, maxItems: 500 },
    ),
  )

/** Fields that every named object may carry on input. */
export const named = {
  // Two patterns, each linear: one that says both goes quadratic on a long line with a control character at its end.
  name: Type.String({
    maxLength: 255,
    pattern: '\\S',
    allOf: [{ type: 'string', pattern: oneLine, maxLength: 255 }],
    examples: ['Air quality'],
  }),
  translations: translationsOf('name'),
}

/** For what has a description besides, in other languages as well. */
export const namedAndDescribed = { ...named, translations: translationsOf('name', 'description') }

/** Fields that the service assigns and every response of a named object carries. */
export const recorded = {
  id: Uid,
  created: Timestamp,
  lastUpdated: Timestamp,
  displayName: Type.String({ maxLength: 10_000 }),
}

/** Who made and last changed it, by username. */
export const authored = {
  createdBy: Type.Optional(Line),
  lastUpdatedBy: Type.Optional(Line),
}

/** The names a response adds, which a client may send back unchanged: accepted and not looked at. */
export const assigned = [
  'id',
  'created',
  'lastUpdated',
  'createdBy',
  'lastUpdatedBy',
  'createdByLastUpdatedBy',
  'displayName',
] as const

/** Whatever stands here is accepted and not looked at. */
export const ignored = Type.Unsafe<unknown>({ readOnly: true, description: 'Accepted and ignored.' })

/**
 * A request body: `fields` are read, `assigned` and `more` are accepted so that what was read with GET can be sent with PUT, and
 * any other name is refused.
 */
export function body<Fields extends TProperties>(fields: Fields, more: readonly string[] = []) {
  const accepted: Record<string, TSchema> = {}
  for (const name of [...assigned, ...more]) accepted[name] = ignored
  return Type.Object(fields, {
    additionalProperties: false,
    properties: { ...accepted, ...fields },
  })
}

/** An object with a life of its own, named inside another: only its id is read. */
export const Reference = Type.Object({ id: Uid }, { title: 'Reference', maxProperties: 200 })
