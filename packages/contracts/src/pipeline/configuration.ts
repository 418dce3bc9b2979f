import { Type } from 'typebox'
import { type Contract, defineContract, discriminatedUnion, noUnknownFields, type TypeOf } from '../contract.ts'
import { lineOf, LongText, SingleLineText, Uid } from '../field-types.ts'
import { AccessObject, ObjectAccess } from '../object-access.ts'
import type { Role } from '../roles.ts'
import { isStoredSecret } from '../validate.ts'
import { pipelineVariants } from './data-pipeline/data-pipeline.ts'
import { DataQualityCheckBody, DataQualityCheckGroupBody } from './data-quality-check.ts'
import { DestinationBody } from './destination.ts'
import { SchemaBody } from './schema.ts'
import { VariableBody } from './variable.ts'
import { ViewBody } from './view.ts'
import { jobTypes } from './workflow-run.ts'
import { WorkflowBody } from './workflow.ts'

/**
 * The lists of a configuration, in the order in which their objects are saved. Each kind refers only to earlier kinds.
 */
export const configurationKinds = [
  'schemas',
  'variables',
  'dataQualityChecks',
  'dataQualityCheckGroups',
  'dataPipelines',
  'views',
  'destinations',
  'workflows',
] as const
export type ConfigurationKind = (typeof configurationKinds)[number]

/** The role that each kind requires: ROLE_MANAGE_x for planning and applying, ROLE_SEE_x for exporting. */
const roleByKind: Readonly<Record<ConfigurationKind, string>> = {
  schemas: 'SCHEMA',
  variables: 'VARIABLE',
  dataQualityChecks: 'DATA_QUALITY_CHECK',
  dataQualityCheckGroups: 'DATA_QUALITY_CHECK_GROUP',
  dataPipelines: 'DATA_PIPELINE',
  views: 'VIEW',
  destinations: 'DESTINATION',
  workflows: 'WORKFLOW',
}

export const getConfigurationRole = (kind: ConfigurationKind, action: 'SEE' | 'MANAGE'): Role =>
  `ROLE_${action}_${roleByKind[kind]}` as Role

/** The maximum number of objects of one kind in a configuration. */
export const maxConfiguredObjects = 5_000

/** The maximum bytes of a configuration in a request. */
export const configurationByteLimit = 4_194_304

const ObjectName = lineOf({ maxLength: 255, examples: ['Health'] })
const NameReference = Type.Object({ name: ObjectName }, { ...noUnknownFields, title: 'NameReference' })

const Grant = { access: Type.Optional(AccessObject.properties.access) }
const ConfiguredAccess = Type.Object(
  {
    publicAccess: Type.Optional(ObjectAccess.properties.publicAccess),
    userAccess: Type.Optional(
      Type.Array(
        Type.Object(
          { username: lineOf({ maxLength: 255, examples: ['ida'] }), ...Grant },
          { ...noUnknownFields, title: 'ConfiguredUserAccess' },
        ),
        { maxItems: 1000 },
      ),
    ),
    userGroupAccess: Type.Optional(
      Type.Array(
        Type.Object(
          {
            code: { ...lineOf({ maxLength: 255, examples: ['AIR-TEAM'] }), description: 'The code of the user group.' },
            ...Grant,
          },
          { ...noUnknownFields, title: 'ConfiguredGroupAccess' },
        ),
        { maxItems: 1000 },
      ),
    ),
  },
  { ...noUnknownFields, title: 'ConfiguredAccess', description: 'Absent fields keep their stored values.' },
)

const ConfiguredJob = Type.Object(
  { jobType: Type.Enum([...jobTypes]), object: NameReference },
  { ...noUnknownFields, title: 'ConfiguredJob' },
)

/**
 * The schemas that refer to other objects by name. In a configuration they replace the schemas with these titles, which
 * refer to objects by id.
 */
const schemasWithNames: Readonly<Record<string, object>> = {
  Reference: NameReference,
  SchemaReference: NameReference,
  ViewReference: NameReference,
  JobBody: ConfiguredJob,
  AccessPart: ConfiguredAccess,
}

const configurationFields = {
  was: Type.Optional({
    ...ObjectName,
    description:
      'The former name of the object, to rename it. Ignored if an object with the new name exists and none with the former name.',
  }),
  redacted: Type.Optional(
    Type.Array(Type.String({ maxLength: 100, pattern: '^(/[A-Za-z]+)+$', examples: ['/jdbcSource/password'] }), {
      uniqueItems: true,
      maxItems: 20,
      description:
        'JSON pointers to the secrets that an export leaves out. Applying the configuration keeps their stored values. A plan reports the secrets without a stored value.',
    }),
  ),
}

type MessageSide = 'request' | 'response'
type ContractSchema = Record<string, any>

/** Fields that only older clients send. */
const deprecatedFields = new Set(['warehouseAViewName'])

/**
 * Returns the schema of an object in a configuration, from the schema of its request body: without fields that requests
 * ignore, and with names instead of ids. The schema for responses has no secrets. `ViewBody` becomes
 * `ConfiguredViewBody` in requests, and `ConfiguredView` in responses.
 */
function toConfigurationSchema(body: object, side: MessageSide): ContractSchema {
  const { title: bodyTitle } = body as ContractSchema
  const { title: _title, ...schema } = replaceReferences(body as ContractSchema, side)
  const name = `Configured${String(bodyTitle).replace(/Body$/, '')}`
  const addedFields = side === 'request' ? configurationFields : { redacted: configurationFields.redacted }
  return {
    ...schema,
    properties: { ...schema['properties'], ...addedFields },
    title: side === 'request' ? `${name}Body` : name,
  }
}

/**
 * Converts a schema and all schemas inside it: replaces references by id with references by name, and removes fields
 * that a configuration does not have. An object with changed fields gets a new title, because it becomes another
 * OpenAPI component; an object without changes is returned as it is.
 */
function replaceReferences(schema: ContractSchema, side: MessageSide): ContractSchema {
  const schemaWithNames = schemasWithNames[schema['title']]
  if (schemaWithNames) return schemaWithNames
  const { items, anyOf, properties } = schema
  if (items) return { ...schema, items: replaceReferences(items, side) }
  if (anyOf) return { ...schema, anyOf: anyOf.map((variant: ContractSchema) => replaceReferences(variant, side)) }
  if (!properties) return schema
  const fields = Object.entries<ContractSchema>(properties)
  const convertedFields = fields
    .filter(([name, field]) => isConfigurationField(name, field, side))
    .map(([name, field]): [string, ContractSchema] => [name, replaceReferences(field, side)])
  const isUnchanged =
    convertedFields.length === fields.length && convertedFields.every(([name, field]) => field === properties[name])
  if (isUnchanged) return schema
  const { title } = schema
  return {
    ...schema,
    properties: Object.fromEntries(convertedFields),
    ...(title && { title: `${title}${side === 'request' ? 'OfConfiguration' : 'OfExport'}` }),
  }
}

/** Returns whether a configuration has this field of a request body. An export has no secrets. */
function isConfigurationField(name: string, field: ContractSchema, side: MessageSide): boolean {
  const isIgnoredByRequests = field['readOnly'] === true || deprecatedFields.has(name)
  const isSecretInExport = side === 'response' && isStoredSecret(field)
  return !isIgnoredByRequests && !isSecretInExport
}

const bodies: Readonly<Record<Exclude<ConfigurationKind, 'dataPipelines'>, object>> = {
  schemas: SchemaBody,
  variables: VariableBody,
  dataQualityChecks: DataQualityCheckBody,
  dataQualityCheckGroups: DataQualityCheckGroupBody,
  views: ViewBody,
  destinations: DestinationBody,
  workflows: WorkflowBody,
}

/** Returns the contract for objects of a kind in a configuration. */
function configuredKind(kind: ConfigurationKind, side: MessageSide): object {
  if (kind !== 'dataPipelines') return toConfigurationSchema(bodies[kind], side)
  const variants = pipelineVariants.map(({ body }) => toConfigurationSchema(body, side) as Contract<unknown>)
  return discriminatedUnion(side === 'request' ? 'ConfiguredPipelineBody' : 'ConfiguredPipeline', variants)
}

/** The contracts of the objects in an export, by kind. */
export const exportedKinds = Object.fromEntries(
  configurationKinds.map((kind) => [kind, configuredKind(kind, 'response')]),
) as Readonly<Record<ConfigurationKind, object>>

const listsOf = (contracts: (kind: ConfigurationKind) => object) =>
  Object.fromEntries(
    configurationKinds.map((kind) => [
      kind,
      Type.Optional(Type.Array(Type.Unsafe<unknown>(contracts(kind)), { maxItems: maxConfiguredObjects })),
    ]),
  )

/** An object in a configuration. Its other fields are those of its kind's request body, with names instead of ids. */
export interface ConfiguredObject {
  name: string
  was?: string
  redacted?: string[]
  access?: {
    publicAccess?: 'NONE' | 'READ' | 'READ_WRITE'
    userAccess?: { username: string; access?: 'READ' | 'READ_WRITE' }[]
    userGroupAccess?: { code: string; access?: 'READ' | 'READ_WRITE' }[]
  }
  [field: string]: unknown
}

export type Configuration = Partial<Record<ConfigurationKind, ConfiguredObject[]>>

/** An organisation's objects by kind, with names instead of ids. */
export const ConfigurationBody = defineContract(
  'ConfigurationBody',
  Type.Object(
    listsOf((kind) => configuredKind(kind, 'request')),
    noUnknownFields,
  ),
) as object as Contract<Configuration>

/** An export: a configuration without secrets. */
export const ExportedConfiguration = defineContract(
  'Configuration',
  Type.Object(
    listsOf((kind) => exportedKinds[kind]),
    noUnknownFields,
  ),
) as object as Contract<Configuration>

export const ExportQuery = defineContract(
  'ExportQuery',
  Type.Object(
    {
      kinds: Type.Optional(
        Type.Array(Type.Enum([...configurationKinds]), {
          maxItems: configurationKinds.length,
          description: 'The kinds to export. Default: all kinds that you may see.',
        }),
      ),
    },
    noUnknownFields,
  ),
)

export type ExportQuery = TypeOf<typeof ExportQuery>

const PlanDigest = Type.String({
  minLength: 64,
  maxLength: 64,
  pattern: '^[0-9a-f]+$',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
})

export const ApplyQuery = defineContract(
  'ApplyQuery',
  Type.Object(
    {
      plan: Type.Optional({
        ...PlanDigest,
        description:
          'The `plan` of a plan. If the changes now differ from it, the response is 412 and nothing is saved.',
      }),
    },
    noUnknownFields,
  ),
)

export type ApplyQuery = TypeOf<typeof ApplyQuery>

const JsonText = Type.String({
  maxLength: 1_001,
  description: 'The value as JSON. A value of more than 1,000 characters is cut and ends with an ellipsis.',
})

const FieldChange = Type.Object(
  {
    pointer: Type.String({ maxLength: 1000, examples: ['/runTrigger'] }),
    before: Type.Optional(JsonText),
    after: Type.Optional(JsonText),
  },
  { ...noUnknownFields, title: 'FieldChange' },
)

export const redactedStates = ['SAME', 'CHANGED', 'SET', 'REMOVED', 'MISSING'] as const

const RedactedField = Type.Object(
  {
    pointer: Type.String({ maxLength: 100, examples: ['/jdbcSource/password'] }),
    state: Type.Enum([...redactedStates], {
      description:
        'SAME: the given value is the stored one. CHANGED: it differs. SET: none was stored. REMOVED: the stored value is deleted. MISSING: the configuration names the secret in `redacted`, but no value is stored.',
    }),
  },
  { ...noUnknownFields, title: 'RedactedField' },
)

const ConfigurationChange = Type.Object(
  {
    kind: Type.Enum([...configurationKinds]),
    name: SingleLineText,
    was: Type.Optional({ ...SingleLineText, description: 'The former name of a renamed object.' }),
    id: Type.Optional({ ...Uid, description: 'Absent if the object does not exist yet.' }),
    result: Type.Enum(['CREATED', 'UPDATED', 'UNCHANGED']),
    fields: Type.Array(FieldChange, { maxItems: 1_000, description: 'The changed fields of an updated object.' }),
    redacted: Type.Array(RedactedField, {
      maxItems: 20,
      description:
        'The secrets that the configuration adds or changes, removes, or lacks. Their values are never returned.',
    }),
    pending: Type.Boolean({
      description: 'Whether a run has to create or change the object in the warehouse. Applying queues that run.',
    }),
  },
  { ...noUnknownFields, title: 'ConfigurationChange' },
)

const ObjectCount = Type.Integer({ minimum: 0, maximum: maxConfiguredObjects * configurationKinds.length })

export const ConfigurationChanges = defineContract(
  'ConfigurationChanges',
  Type.Object(
    {
      applied: Type.Boolean({ description: 'False for a plan: nothing was saved.' }),
      message: LongText,
      plan: {
        ...PlanDigest,
        description: 'Identifies these changes. Send it with `POST /configuration/apply?plan=…`.',
      },
      created: ObjectCount,
      updated: ObjectCount,
      unchanged: ObjectCount,
      pending: ObjectCount,
      missing: {
        ...ObjectCount,
        description: 'The number of objects that need a secret for which no value is stored.',
      },
      changes: Type.Array(ConfigurationChange, {
        maxItems: maxConfiguredObjects * configurationKinds.length,
        description: 'All objects of the configuration, in the order in which they are saved.',
      }),
    },
    noUnknownFields,
  ),
)

export type ConfigurationChanges = TypeOf<typeof ConfigurationChanges>
