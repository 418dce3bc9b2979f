import { type Static, type TProperties, type TSchema, type TString, type TUnsafe, Type } from 'typebox'

export const Timestamp = Type.String({ format: 'date-time', maxLength: 40 })

/**
 * A time in a query or body that is compared with stored times. The database and JavaScript's `Date` can represent its
 * years.
 */
export const ComparedTime = Type.String({
  ...Timestamp,
  pattern: '^(?!0|1[0-8]|19[0-6]|[3-9])',
  examples: ['2026-05-31T12:00:00Z'],
})

/** The id of an object in requests and responses. */
export const Uid = Type.String({ format: 'uuid', maxLength: 36 })

/** Matches text without control characters, which stays on one line in logs, emails and terminals. */
const oneLine = '^\\P{Cc}*$'

/**
 * Returns the schema of a name or code: one line that is not blank. It has two patterns that take linear time. A single
 * pattern would take quadratic time for a long line that ends with a control character.
 */
export const lineOf = (options: { minLength?: number; maxLength: number; examples: string[]; description?: string }) =>
  Type.String({ ...options, pattern: '\\S', allOf: [{ pattern: oneLine }] })

/** Adds the reason why a field is required. The violation for a missing field shows it. */
export const requiredBecause = <S extends TSchema>(schema: S, whyRequired: string): S => ({ ...schema, whyRequired })

/** One line of text, for names and the like. */
export const SingleLineText = Type.String({ maxLength: 255, pattern: oneLine, examples: ['A line of text'] })

/**
 * The name of a schema, table or view in the warehouse. The warehouse's naming rules are checked when the object is
 * saved.
 */
export const WarehouseName = Type.String({ minLength: 1, maxLength: 63, pattern: oneLine, examples: ['cases'] })

/** One email address. Its domain may be international. */
export const EmailAddress = Type.String({ format: 'idn-email', maxLength: 254, examples: ['ida@example.org'] })

export const LongText = Type.String({ maxLength: 10_000 })

/** An absolute http(s) URL, or an empty text. */
export const UrlOrEmpty = Type.String({
  maxLength: 2000,
  pattern: '^($|https?://)',
  examples: ['https://data.example.org/'],
})

export const TagList = Type.Array(
  Type.String({ minLength: 1, maxLength: 100, pattern: oneLine, examples: ['health'] }),
  {
    uniqueItems: true,
    maxItems: 50,
  },
)

/**
 * Returns the schema of translations of these properties. A property is written as in the object (`name`) or in
 * capitals, as in DHIS2 (`NAME`).
 */
const defineTranslationsOf = (...properties: string[]) =>
  defineTranslations(
    Type.Unsafe<string>(Type.Enum(properties.flatMap((name) => [name, name.toUpperCase()]))),
    properties.length > 1 ? 'Translation' : 'NameTranslation',
  )

/** Returns the schema of translations of the properties that the schema `property` accepts. */
export const defineTranslations = (property: TString | TUnsafe<string>, title: string) =>
  Type.Optional(
    Type.Array(
      Type.Object(
        {
          locale: requiredBecause(
            Type.String({ minLength: 2, maxLength: 35, pattern: '^[A-Za-z0-9_-]+$', examples: ['fr', 'pt-BR'] }),
            'it is the language of the translation',
          ),
          property: requiredBecause(property, 'it is the name of the translated property'),
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

/** Body fields of every named object. */
export const namedFields = {
  name: lineOf({ maxLength: 255, examples: ['Air quality'] }),
  translations: defineTranslationsOf('name'),
}

/** Body fields of every named object with a translatable description. */
export const namedAndDescribed = { ...namedFields, translations: defineTranslationsOf('name', 'description') }

/** Response fields of every named object. The service assigns them. */
export const recordFields = {
  id: Uid,
  created: Timestamp,
  lastUpdated: Timestamp,
  displayName: Type.String({ maxLength: 10_000 }),
}

export const authorFields = {
  createdBy: Type.Optional(SingleLineText),
  lastUpdatedBy: Type.Optional(SingleLineText),
}

/** The actions that a caller may perform on a record. Some records cannot be run or shared. */
export const recordActions = ['read', 'write', 'run', 'share', 'delete'] as const
export type RecordAction = (typeof recordActions)[number]

/** The response field of every record of the pipeline service with the actions that the caller may perform. */
export const permittedFields = {
  may: Type.Array(Type.Enum([...recordActions]), {
    uniqueItems: true,
    maxItems: recordActions.length,
    description:
      'What you may do with the record, by your roles and its sharing settings. The service responds to every other action with 403 or 404.',
  }),
}

/**
 * Fields that the pipeline service assigns to every object. A body may contain them, and they are ignored. Older
 * clients send `createdByLastUpdatedBy`.
 */
const assignedFields = {
  ...recordFields,
  ...authorFields,
  ...permittedFields,
  createdByLastUpdatedBy: SingleLineText,
}

/** A body field of any type that the service accepts and ignores. */
export const ignoredField = Type.Unsafe<unknown>({ readOnly: true, description: 'Accepted and ignored.' })

/**
 * Converts response fields to optional body fields that are ignored. Types and enums are still checked, but not the
 * content of objects and lists.
 */
function ignoredFields(responseFields: TProperties): TProperties {
  const fields = Object.entries(responseFields).map(([name, schema]): [string, TSchema] => [
    name,
    toIgnoredField(schema),
  ])
  return Object.fromEntries(fields)
}

/** Returns the schema of the ignored body field for a response field. */
function toIgnoredField(schema: TSchema): TSchema {
  const { type, items: _items, properties: _properties, title: _title, ...rest } = schema as JsonSchema
  const ignoredNote = { readOnly: true, description: 'Accepted and ignored.' }
  if (type === 'object') return Type.Unsafe({ type, maxProperties: 1000, ...ignoredNote })
  if (type === 'array') return Type.Unsafe({ type, maxItems: 10_000, ...ignoredNote })
  return Type.Unsafe({ ...(type !== undefined && { type }), ...rest, ...ignoredNote })
}

type JsonSchema = Record<string, any>

/**
 * Returns the schema of a request body. The service reads `fields`. It accepts and ignores the response fields in
 * `responseOnlyFields`, so that clients can send the response of a GET with PUT. It rejects all other fields.
 */
export function bodyOf<Fields extends TProperties>(fields: Fields, responseOnlyFields: TProperties) {
  return Type.Object(fields, {
    additionalProperties: false,
    properties: { ...ignoredFields(responseOnlyFields), ...fields },
  })
}

/** Schemas of further response fields of the pipeline service. A field has the same type in every response. */
const answeredTypes: TProperties = {
  client: SingleLineText,
  ...Object.fromEntries(['displayDescription', 'displayShortName', 'tagString'].map((name) => [name, LongText])),
  displayLabels: Type.Array(Type.Unknown(), { maxItems: 1000 }),
  ...Object.fromEntries(
    ['statistics', 'status', 'table', 'file', 'secretStatus'].map((name) => [name, Type.Object({})]),
  ),
  triggerExpression: Type.String({ maxLength: 200 }),
  scheduleable: Type.Boolean(),
  dataDownload: Type.Boolean(),
  warning: SingleLineText,
  ...Object.fromEntries(
    [
      'typeName',
      'typeKey',
      'dataWarehouseTargetSchemaName',
      'dataWarehouseTargetTableName',
      'dataPipelineSourceName',
      'qualifiedDataWarehouseViewName',
    ].map((name) => [name, SingleLineText]),
  ),
}

/**
 * Returns the schema of a request body of the pipeline service. `responseOnlyFields` names further response fields,
 * which the body may contain and which are ignored.
 */
export const defineRequestBody = <Fields extends TProperties>(
  fields: Fields,
  responseOnlyFields: readonly string[] = [],
) =>
  bodyOf(fields, {
    ...assignedFields,
    ...Object.fromEntries(responseOnlyFields.map((name) => [name, answeredTypes[name] ?? ignoredField])),
  })

/** A reference to another object. Only the id is read. */
export const ObjectReference = Type.Object({ id: Uid }, { title: 'Reference', maxProperties: 200 })

/** Matches the names of fields that contain secrets. */
export const secretName =
  /password|secret(?!Status|_times)|token(?!ValidAfter|Target)|access_?key|account_?key|private_?key|credential|sealed_value/i

const SecretStatus = Type.Object(
  {
    set: Type.Boolean({ description: 'Whether a value is stored.' }),
    changedAt: Type.Optional({
      ...Timestamp,
      description: 'When the stored value was last entered. Absent for values that an older version of Sluice stored.',
    }),
  },
  { additionalProperties: false, title: 'SecretStatus' },
)

export type SecretStatus = Static<typeof SecretStatus>

/**
 * The response field `secretStatus`, which says whether the secrets with these names are stored. The response leaves
 * out the secrets themselves.
 */
export const secretStatusField = <Name extends string>(names: readonly Name[]) =>
  Type.Object(Object.fromEntries(names.map((name) => [name, SecretStatus])) as Record<Name, typeof SecretStatus>, {
    additionalProperties: false,
    description: 'Which secrets are stored.',
  })

/** The field `secretStatus` in a body, where it is ignored. */
export const ignoredSecretStatus = { secretStatus: Type.Object({}) }

/** An integer in the range that every JSON parser represents exactly. */
export const NonNegativeInteger = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** A quantity such as bytes, milliseconds or rows per second. */
export const NonNegativeNumber = Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/** A number in users' data, of any size. */
export const AnyNumber = Type.Number({ minimum: -Number.MAX_VALUE, maximum: Number.MAX_VALUE })
