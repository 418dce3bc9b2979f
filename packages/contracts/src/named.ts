import { type TProperties, type TSchema, type TString, type TUnsafe, Type } from 'typebox'

export const Timestamp = Type.String({ format: 'date-time', maxLength: 40 })

/** The identifier of an object on the wire. */
export const Uid = Type.String({ format: 'uuid', maxLength: 36 })

/** No control characters: one line must stay one line in a log, a mail and a terminal. */
const oneLine = '^\\P{Cc}*$'

/**
 * One line that is not blank, for names and codes: two patterns, each with linear time. A single pattern takes quadratic time
 * for a long line with a control character at its end.
 */
export const lineOf = (options: { minLength?: number; maxLength: number; examples: string[]; description?: string }) =>
  Type.String({ ...options, pattern: '\\S', allOf: [{ pattern: oneLine }] })

/** Adds to a required field the reason that a violation shows. */
export const requiredBecause = <S extends TSchema>(schema: S, whyRequired: string): S => ({ ...schema, whyRequired })

/** One line of text, for names and the like. */
export const Line = Type.String({ maxLength: 255, pattern: oneLine, examples: ['A line of text'] })

/** The name of a schema, table or view in the warehouse. The warehouse's naming rules are checked when the object is saved. */
export const WarehouseName = Type.String({ minLength: 1, maxLength: 63, pattern: oneLine, examples: ['cases'] })

/** One e-mail address. The domain may be an international one. */
export const Email = Type.String({ format: 'idn-email', maxLength: 254, examples: ['ida@example.org'] })

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
  translationsWith(
    Type.Unsafe<string>(Type.Enum(properties.flatMap((name) => [name, name.toUpperCase()]))),
    properties.length > 1 ? 'Translation' : 'NameTranslation',
  )

/** The same with a separate schema for the properties. */
export const translationsWith = (property: TString | TUnsafe<string>, title: string) =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          locale: requiredBecause(
            Type.String({ minLength: 2, maxLength: 35, pattern: '^[A-Za-z0-9_-]+$', examples: ['fr', 'pt-BR'] }),
            'translations are selected by language',
          ),
          property: requiredBecause(property, 'it names the translated text'),
          value: requiredBecause(
            Type.String({ minLength: 1, maxLength: 10_000, examples: ['Qualité de l’air'] }),
            'it is the translated text',
          ),
        },
        { additionalProperties: false, title },
      ),
      { uniqueItems: true, uniqueBy: ['locale', 'property'], maxItems: 500 },
    ),
  )

/** Fields that every named object may carry on input. */
export const named = {
  name: lineOf({ maxLength: 255, examples: ['Air quality'] }),
  translations: translationsOf('name'),
}

/** Fields of named objects with a description, which can be translated too. */
export const namedAndDescribed = { ...named, translations: translationsOf('name', 'description') }

/** Fields that the service assigns and every response of a named object carries. */
export const recorded = {
  id: Uid,
  created: Timestamp,
  lastUpdated: Timestamp,
  displayName: Type.String({ maxLength: 10_000 }),
}

/** Usernames of the creator and the last editor. */
export const authored = {
  createdBy: Type.Optional(Line),
  lastUpdatedBy: Type.Optional(Line),
}

/** Fields that the pipeline service assigns to every object. A body may contain them; older clients send `createdByLastUpdatedBy`. */
const assigned = { ...recorded, ...authored, createdByLastUpdatedBy: Line }

/** An accepted and ignored field without a declared type. */
export const ignored = Type.Unsafe<unknown>({ readOnly: true, description: 'Accepted and ignored.' })

/**
 * Returns the fields of a response as optional, ignored fields of a body, with their declared types and enums. The contents
 * of objects and lists are not checked.
 */
function ignoredFields(answered: TProperties): TProperties {
  const fields = Object.entries(answered).map(([name, schema]): [string, TSchema] => [name, ignoredOf(schema)])
  return Object.fromEntries(fields)
}

function ignoredOf(schema: TSchema): TSchema {
  const { type, items: _items, properties: _properties, title: _title, ...rest } = schema as Json
  const said = { readOnly: true, description: 'Accepted and ignored.' }
  if (type === 'object') return Type.Unsafe({ type, maxProperties: 1000, ...said })
  if (type === 'array') return Type.Unsafe({ type, maxItems: 10_000, ...said })
  return Type.Unsafe({ ...(type !== undefined && { type }), ...rest, ...said })
}

type Json = Record<string, any>

/**
 * A request body: `fields` are read. The fields of `answered` are accepted and ignored, so that the response of a GET can be sent
 * with PUT. All other fields are rejected.
 */
export function bodyOf<Fields extends TProperties>(fields: Fields, answered: TProperties) {
  return Type.Object(fields, {
    additionalProperties: false,
    properties: { ...ignoredFields(answered), ...fields },
  })
}

/** Types of further response fields of the pipeline service by name. A name has the same type in every response. */
const answeredTypes: TProperties = {
  client: Line,
  ...Object.fromEntries(['displayDescription', 'displayShortName', 'tagString'].map((name) => [name, Text])),
  displayLabels: Type.Array(Type.Unknown(), { maxItems: 1000 }),
  ...Object.fromEntries(['statistics', 'status', 'table', 'file'].map((name) => [name, Type.Object({})])),
  triggerExpression: Type.String({ maxLength: 200 }),
  scheduleable: Type.Boolean(),
  dataDownload: Type.Boolean(),
  warning: Line,
  ...Object.fromEntries(
    [
      'typeName',
      'typeKey',
      'dataWarehouseTargetSchemaName',
      'dataWarehouseTargetTableName',
      'dataPipelineSourceName',
      'qualifiedDataWarehouseViewName',
    ].map((name) => [name, Line]),
  ),
}

/** The same in the pipeline service, where every object has an author. `answered` are names of fields that its response adds. */
export const body = <Fields extends TProperties>(fields: Fields, answered: readonly string[] = []) =>
  bodyOf(fields, {
    ...assigned,
    ...Object.fromEntries(answered.map((name) => [name, answeredTypes[name] ?? ignored])),
  })

/** A reference to an independent object inside another one: only its id is read. */
export const Reference = Type.Object({ id: Uid }, { title: 'Reference', maxProperties: 200 })

/** Matches the names of fields that contain secrets. */
export const secretName =
  /password|secret|token(?!ValidAfter|Target)|access_?key|account_?key|private_?key|credential|sealed_value/i

/** An integer in the range that every JSON parser represents exactly. */
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** A quantity such as bytes, milliseconds or rows per second. */
export const Amount = Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** A number in users' data, of any size. */
export const AnyNumber = Type.Number({ minimum: -Number.MAX_VALUE, maximum: Number.MAX_VALUE })
