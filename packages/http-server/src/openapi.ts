import { type OperationGuard, ProblemDocument, type OperationSignature, isStoredSecret } from '@sluice/contracts'
import type { Operation } from './operation.ts'

type OpenApiValue = any

const pagedHeaders = {
  'X-Total-Count': { description: 'Rows that match, on all pages.', schema: { type: 'integer' } },
  'X-Page': { schema: { type: 'integer' } },
  'X-Page-Size': { schema: { type: 'integer' } },
  'X-Page-Count': { schema: { type: 'integer' } },
  'X-Next-Cursor': {
    description: 'The value of `after` for the next page; absent on the last one.',
    schema: { type: 'string' },
  },
  Link: { description: 'first, prev, next, last (RFC 8288).', schema: { type: 'string' } },
}

const requestId = { 'X-Request-Id': { description: 'Names this request in the logs.', schema: { type: 'string' } } }

/** The title and description of a service in its OpenAPI document. */
export interface ServiceInfo {
  title: string
  version: string
  description: string
  /** The display name and description of each OpenAPI tag, by the first word of the operation ids. */
  nouns?: Readonly<Record<string, { name: string; description: string }>>
}

/**
 * Returns the OpenAPI document of the operations. OpenAPI 3.1 is based on JSON Schema 2020-12, so the contracts'
 * schemas are included almost unchanged.
 */
export function openapi(operations: readonly Operation[], { nouns = {}, ...info }: ServiceInfo) {
  const registry = new SchemaRegistry()
  const ref = (contract: OpenApiValue): OpenApiValue => registry.toReferences(contract)
  const nullable = createNullConverter(new Set(operations.flatMap(({ signature }) => listTitles(signature.response))))
  const paths: Record<string, OpenApiValue> = {}

  for (const { signature } of operations) {
    const path = signature.path.replaceAll(/:(\w+)/g, '{$1}')
    const content = (contract: object, type = 'application/json') => ({ [type]: { schema: ref(contract) } })
    paths[path] = {
      ...paths[path],
      [signature.method]: {
        operationId: signature.id,
        summary: signature.summary,
        ...(signature.description && { description: signature.description }),
        tags: [tagOf(signature.id, nouns).name],
        security: describeSecurity(signature.guard),
        ...(Array.isArray(signature.guard) && { 'x-roles': signature.guard }),
        ...((signature.guard === 'in-person' || signature.inPerson) && { 'x-in-person': true }),
        parameters: [
          ...pathParameters(path),
          ...queryParameters(signature.query, ref),
          ...describeHeaderParameters(signature),
        ],
        ...(signature.body && {
          requestBody: { required: !isBodyOptional(signature.body), content: content(nullable(signature.body)) },
        }),
        ...(signature.upload && {
          requestBody: {
            required: true,
            content: { [signature.upload]: { schema: uploadOf(signature, ref) } },
          },
        }),
        responses: {
          [signature.status]: {
            description: signature.response ? 'Done.' : 'Done; no body.',
            headers: responseHeaders(signature),
            ...(signature.response && {
              content: {
                ...content(signature.response, signature.events ? 'text/event-stream' : undefined),
                ...Object.fromEntries(
                  (signature.fileTypes ?? []).map((type) => [type, { schema: { type: 'string', format: 'binary' } }]),
                ),
                ...(signature.hasHtmlPage && { 'text/html': { schema: { type: 'string' } } }),
              },
            }),
          },
          ...(signature.mayRedirect && {
            302: {
              description: 'Leads the browser on.',
              headers: {
                ...requestId,
                Location: {
                  description: 'The address to which the browser is redirected.',
                  schema: { type: 'string', format: 'uri-reference' },
                },
              },
            },
          }),
          ...describeProblems(signature),
          default: {
            description: 'A problem.',
            content: { 'application/problem+json': { schema: ref(ProblemDocument) } },
          },
        },
      },
    }
  }

  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: '/api/v1' }],
    tags: tagsOf(operations, nouns),
    paths,
    components: {
      schemas: sortByName(shareFields(registry.schemas)),
      responses: Object.fromEntries(
        Object.entries(problemStatuses).map(([status, description]) => [
          `Problem${status}`,
          { description, content: { 'application/problem+json': { schema: ref(ProblemDocument) } } },
        ]),
      ),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    },
  }
}

const sortByName = (schemas: Record<string, OpenApiValue>): Record<string, OpenApiValue> =>
  Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1)))

const tagOf = (id: string, nouns: NonNullable<ServiceInfo['nouns']>) => {
  const noun = id.split('.')[0]!
  return nouns[noun] ?? { name: noun, description: '' }
}

const tagsOf = (operations: readonly Operation[], nouns: NonNullable<ServiceInfo['nouns']>) => [
  ...new Map(
    operations.map(({ signature }) => tagOf(signature.id, nouns)).map((group) => [group.name, group]),
  ).values(),
]

const takesIfMatch = ({ ifMatch, versioned, effect, method }: OperationSignature): boolean =>
  ifMatch ?? Boolean(versioned && effect === 'write' && method !== 'post')

const problemStatuses = {
  400: 'The request does not match its contract.',
  401: 'A valid access token is required.',
  403: 'You are not allowed to do this.',
  404: 'The object does not exist, or belongs to another organisation.',
  409: 'The change conflicts with stored data.',
  412: 'If-Match names an older version.',
  413: 'The request body is too large.',
  415: 'The request body has the wrong media type.',
  422: 'The request is well formed, but violates a rule.',
} as const

/**
 * Returns the problem responses of an operation. Statuses that any request may get (405, 421, 429, 5xx) are in
 * `default`.
 */
function describeProblems(signature: OperationSignature): Record<string, OpenApiValue> {
  const { guard, path, effect, body, upload } = signature
  const hasBody = Boolean(body ?? upload)
  const statuses: [status: keyof typeof problemStatuses, isPossible: boolean][] = [
    [400, true],
    [401, guard !== 'anyone'],
    [403, guard !== 'anyone' && guard !== 'service'],
    [404, path.includes(':')],
    [409, effect === 'write'],
    [412, takesIfMatch(signature)],
    [413, hasBody],
    [415, hasBody],
    [422, hasBody || effect === 'write'],
  ]
  return Object.fromEntries(
    statuses
      .filter(([, isPossible]) => isPossible)
      .map(([status]) => [
        status,
        { $ref: `#/components/responses/Problem${status}`, description: problemStatuses[status] },
      ]),
  )
}

/** Returns the headers that a client may send with a request. */
function describeHeaderParameters(signature: OperationSignature): OpenApiValue[] {
  const { effect, response, events, requestHeaders = {} } = signature
  return [
    ...Object.entries(requestHeaders).map(([name, { description, required }]) =>
      headerParameter(name, description, required),
    ),
    ...(events ? [headerParameter('Last-Event-ID', 'Continue after the event with this id.')] : []),
    ...(takesIfMatch(signature)
      ? [
          headerParameter(
            'If-Match',
            'The ETag of the version that was read. If the object has changed since then, the response is 412.',
          ),
        ]
      : []),
    ...(response && effect === 'read'
      ? [headerParameter('Accept-Language', 'For display names that have translations.')]
      : []),
  ]
}

const headerParameter = (name: string, description: string, required = false) => ({
  name,
  in: 'header',
  description,
  ...(required && { required }),
  schema: { type: 'string' },
})

/** Returns the headers of a successful response. */
const responseHeaders = ({
  paged,
  versioned,
  status,
  response,
  responseHeaders: ownHeaders = {},
}: OperationSignature) => ({
  ...requestId,
  ...Object.fromEntries(
    Object.entries(ownHeaders).map(([name, { description }]) => [name, { description, schema: { type: 'string' } }]),
  ),
  ...(paged && pagedHeaders),
  ...(versioned && response && { ETag: { description: 'The version, for If-Match.', schema: { type: 'string' } } }),
  ...(status === 201 && {
    Location: { description: 'The address of the created object.', schema: { type: 'string' } },
  }),
})

const describeSecurity = (guard: OperationGuard) => (guard === 'anyone' ? [] : [{ bearer: [] }])

const pathParameters = (path: string): OpenApiValue[] =>
  [...path.matchAll(/{(\w+)}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))

function queryParameters(query: OpenApiValue, ref: (contract: OpenApiValue) => OpenApiValue): OpenApiValue[] {
  if (!query) return []
  return Object.entries<OpenApiValue>(query.properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: query.required?.includes(name) ?? false,
    schema: ref(schema),
  }))
}

/** Returns whether no field is required. A missing body is then read as `{}`. */
const isBodyOptional = ({ type, oneOf, required = [], minProperties = 0 }: OpenApiValue): boolean =>
  type === 'object' && !oneOf && required.length === 0 && minProperties === 0

/** Returns the schema of an upload: the file itself, or a form with the file as its last part. */
function uploadOf({ form }: OperationSignature, ref: (contract: OpenApiValue) => OpenApiValue): OpenApiValue {
  const file = { type: 'string', format: 'binary' }
  if (!form) return file
  const { properties, required = [], ...rest } = form as OpenApiValue
  return ref({ ...rest, properties: { ...properties, file }, required: [...required, 'file'] })
}

/**
 * Returns the OpenAPI schema of a union with the mapping of its discriminator. OpenAPI does not support an optional
 * field as discriminator, so such a union becomes an `anyOf` without a discriminator. `contract` is the union before
 * its variants became references.
 */
function convertUnion(contract: OpenApiValue, openApiUnion: OpenApiValue): OpenApiValue {
  const { propertyName } = contract.discriminator
  const { oneOf, discriminator, ...others } = openApiUnion
  const isDiscriminatorRequired = contract.oneOf.every(({ required }: OpenApiValue) => required?.includes(propertyName))
  if (!isDiscriminatorRequired) return { ...others, anyOf: oneOf }
  return { ...openApiUnion, discriminator: { ...discriminator, mapping: buildMapping(contract, openApiUnion) } }
}

/**
 * Maps each value of the discriminator to its variant. Without this mapping, OpenAPI takes the values for schema names.
 */
function buildMapping(schema: OpenApiValue, openApiSchema: OpenApiValue): Record<string, string> {
  const values = schema.oneOf.map(
    (variant: OpenApiValue) => variant.properties[schema.discriminator.propertyName].const,
  )
  return Object.fromEntries(values.map((value: string, index: number) => [value, openApiSchema.oneOf[index].$ref]))
}

/**
 * Returns whether a schema becomes a component of the document: titled objects and unions. Titles of simple fields stay
 * with the fields.
 */
const isNamed = ({ title, type, oneOf, anyOf }: OpenApiValue): boolean =>
  typeof title === 'string' && Boolean(type === 'object' || (oneOf ?? anyOf?.some((one: OpenApiValue) => one.title)))

/** Collects the components (named schemas) of the document. */
class SchemaRegistry {
  readonly schemas: Record<string, OpenApiValue> = {}
  readonly #converted = new Map<object, OpenApiValue>()
  /**
   * Replaces titled objects in the schema by references to components, and registers these components. Visits each
   * shared object once.
   */
  toReferences(schema: OpenApiValue): OpenApiValue {
    if (Array.isArray(schema)) return schema.map((item) => this.toReferences(item))
    if (schema === null || typeof schema !== 'object') return schema
    const existing = this.#converted.get(schema)
    if (existing) return existing
    const converted = this.#convert(schema)
    this.#converted.set(schema, converted)
    return converted
  }
  #convert(schema: OpenApiValue): OpenApiValue {
    // These keywords are specific to this project. The descriptions contain the same information.
    const { title, uniqueBy: _uniqueBy, whyRequired: _whyRequired, ...rest } = schema
    if (rest.format === 'email-list') delete rest.format
    const withReferences = Object.fromEntries(
      Object.entries(rest).map(([key, value]) => [key, this.toReferences(value)]),
    )
    const openApiSchema = withReferences.discriminator ? convertUnion(rest, withReferences) : withReferences
    if (!isNamed(schema)) return typeof title === 'string' ? { title, ...openApiSchema } : openApiSchema
    this.schemas[title] ??= openApiSchema
    if (JSON.stringify(this.schemas[title]) !== JSON.stringify(openApiSchema))
      throw new Error(`Two contracts have the title ${title}`)
    return { $ref: `#/components/schemas/${title}` }
  }
}

function listTitles(schema: OpenApiValue, seen = new Set<object>()): string[] {
  if (schema === null || typeof schema !== 'object' || seen.has(schema)) return []
  seen.add(schema)
  const ownTitle = typeof schema.title === 'string' ? [schema.title] : []
  return [...ownTitle, ...Object.values(schema).flatMap((part) => listTitles(part, seen))]
}

/**
 * Returns a function that converts a request body's contract for the API reference: an optional field may be null,
 * which means the same as absence, and a stored secret may be an empty text, which clears it. A title that a response
 * object also has gets the suffix `Body`.
 */
function createNullConverter(titlesOfResponses: ReadonlySet<string>) {
  const convertedSchemas = new Map<object, OpenApiValue>()

  /** Converts a schema and all schemas inside it. Converts a shared object once. */
  function convert(schema: OpenApiValue): OpenApiValue {
    if (Array.isArray(schema)) return schema.map(convert)
    if (schema === null || typeof schema !== 'object') return schema
    const converted = convertedSchemas.get(schema) ?? convertObject(schema)
    convertedSchemas.set(schema, converted)
    return converted
  }

  function convertObject(schema: OpenApiValue): OpenApiValue {
    const converted = { ...schema }
    for (const key of ['items', 'anyOf', 'oneOf', 'allOf']) if (schema[key]) converted[key] = convert(schema[key])
    if (!schema.properties) return converted
    const { required = [], title } = schema
    const fields = Object.entries<OpenApiValue>(schema.properties)
    converted.properties = Object.fromEntries(
      fields.map(([name, field]) => [name, required.includes(name) ? convert(field) : allowNull(convert(field))]),
    )
    const differsFromResponse = titlesOfResponses.has(title) && JSON.stringify(converted) !== JSON.stringify(schema)
    return differsFromResponse ? { ...converted, title: `${title}Body` } : converted
  }

  return convert
}

/**
 * Returns the field with null as an additional allowed value. A stored secret, which is an `anyOf`, also allows the
 * empty text. Schemas with a name (objects with a title) are referenced elsewhere, so they are wrapped and not changed.
 */
function allowNull(field: OpenApiValue): OpenApiValue {
  const { type, enum: values, anyOf, oneOf, title, properties } = field
  if (anyOf) {
    const emptyText = isStoredSecret(field) ? [{ type: 'string', maxLength: 0 }] : []
    const isNullAllowed = anyOf.some((one: OpenApiValue) => one.type === 'null')
    return { ...field, anyOf: [...anyOf, ...emptyText, ...(isNullAllowed ? [] : [{ type: 'null' }])] }
  }
  const isNamedSchema = title && properties
  if (oneOf || isNamedSchema) return { anyOf: [field, { type: 'null' }] }
  if (values) return { ...field, enum: [...values, null], ...(type && { type: [type, 'null'] }) }
  return typeof type === 'string' ? { ...field, type: [type, 'null'] } : field
}

/** A field becomes a component if it occurs at least this often and its JSON has at least this many characters. */
const minOccurrences = 10
const minCharacters = 120

/**
 * Moves fields that many components repeat, with the same name and schema, to components of their own, and refers to
 * these. The document describes the same values and is a fifth shorter.
 */
export function shareFields(schemas: Record<string, OpenApiValue>): Record<string, OpenApiValue> {
  const fieldComponents: Record<string, OpenApiValue> = {}
  const componentNames = new Map<string, string>()
  for (const { key, name, schema } of listRepeatedFields(schemas)) {
    const isTaken = (candidate: string) => candidate in schemas || candidate in fieldComponents
    const componentName = chooseComponentName(name, schema, isTaken)
    fieldComponents[componentName] = schema
    componentNames.set(key, componentName)
  }
  const toReference = (field: OpenApiValue, name: string) => {
    const componentName = componentNames.get(toFieldKey(name, field))
    return componentName === undefined ? field : { $ref: `#/components/schemas/${componentName}` }
  }
  const schemasWithReferences = Object.entries(schemas).map(
    ([name, schema]) => [name, mapFields(schema, toReference)] as const,
  )
  return Object.fromEntries([...schemasWithReferences, ...Object.entries(fieldComponents)])
}

interface RepeatedField {
  key: string
  name: string
  schema: OpenApiValue
  count: number
}

/** Returns the fields that occur often enough, and are long enough, to become a component. */
function listRepeatedFields(schemas: Record<string, OpenApiValue>): RepeatedField[] {
  const fields = new Map<string, RepeatedField>()
  for (const schema of Object.values(schemas))
    visitFields(schema, (name, field) => {
      if (field.$ref) return
      const key = toFieldKey(name, field)
      const count = (fields.get(key)?.count ?? 0) + 1
      fields.set(key, { key, name, schema: field, count })
    })
  return [...fields.values()].filter(({ key, count }) => count >= minOccurrences && key.length >= minCharacters)
}

/** Returns a text that is equal for fields with the same name and schema. */
const toFieldKey = (name: string, field: OpenApiValue): string => JSON.stringify([name, field])

/**
 * Returns an unused component name, such as `RunTriggerField`, or `RunTriggerFieldOrNull` for a field that may be null.
 */
function chooseComponentName(field: string, { type }: OpenApiValue, isTaken: (name: string) => boolean): string {
  const orNull = Array.isArray(type) && type.includes('null') ? 'OrNull' : ''
  const name = `${field[0]!.toUpperCase()}${field.slice(1)}Field${orNull}`
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? name : `${name}${number}`
    if (!isTaken(candidate)) return candidate
  }
}

/** Calls `visit` for the fields of an object schema and of its nested objects. */
function visitFields(schema: OpenApiValue, visit: (name: string, field: OpenApiValue) => void): void {
  mapFields(schema, (field, name) => {
    visit(name, field)
    return field
  })
}

/**
 * Returns a copy of the schema in which `change` has converted all fields, including nested ones. The fields inside a
 * field that `change` replaced are not converted.
 */
function mapFields(schema: OpenApiValue, change: (field: OpenApiValue, name: string) => OpenApiValue): OpenApiValue {
  if (Array.isArray(schema)) return schema.map((item) => mapFields(item, change))
  if (schema === null || typeof schema !== 'object') return schema
  return Object.fromEntries(
    Object.entries<OpenApiValue>(schema).map(([key, value]) => {
      if (key !== 'properties' || typeof value !== 'object') return [key, mapFields(value, change)]
      const fields = Object.entries<OpenApiValue>(value).map(([name, field]) => {
        const changed = change(field, name)
        return [name, changed === field ? mapFields(field, change) : changed]
      })
      return [key, Object.fromEntries(fields)]
    }),
  )
}
