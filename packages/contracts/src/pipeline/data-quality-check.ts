import { Type } from 'typebox'
import { ObjectAccess, AccessPart } from '../object-access.ts'
import { type TypeOf, noUnknownFields, defineContract } from '../contract.ts'
import {
  SingleLineText,
  ObjectReference,
  LongText,
  Uid,
  authorFields,
  defineRequestBody,
  namedFields,
  permittedFields,
  requiredBecause,
  recordFields,
  defineTranslations,
} from '../field-types.ts'

const shortTextOptions = { maxLength: 50, pattern: '^\\P{Cc}*$' }

export const CheckLabel = defineContract(
  'Label',
  Type.Object(
    {
      key: Type.String({ minLength: 1, maxLength: 100, pattern: '^\\P{Cc}*$', examples: ['severity'] }),
      value: SingleLineText,
    },
    noUnknownFields,
  ),
)
export type CheckLabel = TypeOf<typeof CheckLabel>

const LabelsBody = Type.Array(
  Type.Object(
    {
      key: requiredBecause(CheckLabel.properties.key, 'it identifies the label'),
      value: Type.Optional({ ...SingleLineText, description: 'Default: an empty text.' }),
    },
    { ...noUnknownFields, title: 'LabelBody' },
  ),
  { uniqueItems: true, maxItems: 50 },
)

const CheckLabelList = Type.Array(CheckLabel, { uniqueItems: true, maxItems: 50 })

/**
 * Translations of checks and check groups, including their labels. The translated property of a label is `labels.`
 * followed by its key.
 */
const labelledTranslations = defineTranslations(
  Type.String({
    maxLength: 120,
    pattern: '^(name|NAME|description|DESCRIPTION|shortName|SHORT_NAME|labels\\.\\P{Cc}{1,100})$',
    examples: ['shortName', 'labels.severity'],
  }),
  'LabelledTranslation',
)

export const labelledFields = {
  ...namedFields,
  translations: labelledTranslations,
  shortName: Type.String({ ...shortTextOptions, examples: ['No future dates'] }),
  labels: Type.Optional(LabelsBody),
  description: Type.Optional(LongText),
}

export const labelledResponse = {
  ...recordFields,
  ...authorFields,
  ...permittedFields,
  client: SingleLineText,
  ...labelledFields,
  labels: CheckLabelList,
  displayLabels: CheckLabelList,
  displayShortName: LongText,
  displayDescription: Type.Optional(LongText),
  access: ObjectAccess,
}

/** Response fields that a body may contain and that are ignored. */
export const labelledIgnored = ['client', 'displayLabels', 'displayShortName', 'displayDescription'] as const

const checkFields = {
  /** The code. It is unique among the checks of a client (organisation), unless it is empty. */
  code: Type.String({ ...shortTextOptions, examples: ['FUTURE_DATES'] }),
  query: Type.String({
    minLength: 2,
    maxLength: 2_147_483_647,
    description:
      'One SELECT that returns the violations as rows. `${name}` is replaced by the value of a variable. Tables without a schema are searched in all schemas; a table name that exists in several schemas is rejected.',
    examples: ['select * from cases where reported > current_date'],
  }),
}

export const DataQualityCheckBody = defineContract(
  'DataQualityCheckBody',
  defineRequestBody({ ...labelledFields, ...checkFields, access: Type.Optional(AccessPart) }, labelledIgnored),
)
export type DataQualityCheckBody = TypeOf<typeof DataQualityCheckBody>

export const DataQualityCheck = defineContract(
  'DataQualityCheck',
  Type.Object({ ...labelledResponse, ...checkFields }, noUnknownFields),
)
export type DataQualityCheck = TypeOf<typeof DataQualityCheck>

/** A check inside another object. Callers who may not read the check see only its name. */
export const ReferencedCheck = defineContract(
  'ReferencedCheck',
  Type.Object({ ...Type.Partial(DataQualityCheck).properties, id: Uid, name: SingleLineText }, noUnknownFields),
)
export type ReferencedCheck = TypeOf<typeof ReferencedCheck>

export const DataQualityCheckGroupBody = defineContract(
  'DataQualityCheckGroupBody',
  defineRequestBody(
    {
      ...labelledFields,
      /** The checks in the order in which they run. */
      dataQualityChecks: Type.Optional(Type.Array(ObjectReference, { uniqueItems: true, maxItems: 200 })),
      access: Type.Optional(AccessPart),
    },
    labelledIgnored,
  ),
)
export type DataQualityCheckGroupBody = TypeOf<typeof DataQualityCheckGroupBody>

export const DataQualityCheckGroup = defineContract(
  'DataQualityCheckGroup',
  Type.Object(
    { ...labelledResponse, dataQualityChecks: Type.Array(ReferencedCheck, { maxItems: 200 }) },
    noUnknownFields,
  ),
)
export type DataQualityCheckGroup = TypeOf<typeof DataQualityCheckGroup>
