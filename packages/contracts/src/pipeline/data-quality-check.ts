import { Type } from 'typebox'
import { Access, AccessPart } from '../object-access.ts'
import { type TypeOf, closed, contract } from '../contract.ts'
import {
  Line,
  Reference,
  Text,
  Uid,
  authored,
  body,
  named,
  requiredBecause,
  recorded,
  translationsWith,
} from '../field-types.ts'

const short = { maxLength: 50, pattern: '^\\P{Cc}*$' }

export const Label = contract(
  'Label',
  Type.Object(
    {
      key: Type.String({ minLength: 1, maxLength: 100, pattern: '^\\P{Cc}*$', examples: ['severity'] }),
      value: Line,
    },
    closed,
  ),
)
export type Label = TypeOf<typeof Label>

const LabelsBody = Type.Array(
  Type.Object(
    {
      key: requiredBecause(Label.properties.key, 'it identifies the label'),
      value: Type.Optional({ ...Line, description: 'Empty when absent.' }),
    },
    { ...closed, title: 'LabelBody' },
  ),
  { uniqueItems: true, maxItems: 50 },
)

const Labels = Type.Array(Label, { uniqueItems: true, maxItems: 50 })

/**
 * Translations of checks and groups, including their labels. The translated property of a label is `labels.` followed by its key.
 */
const translations = translationsWith(
  Type.String({
    maxLength: 120,
    pattern: '^(name|NAME|description|DESCRIPTION|shortName|SHORT_NAME|labels\\.\\P{Cc}{1,100})$',
    examples: ['shortName', 'labels.severity'],
  }),
  'LabelledTranslation',
)

export const labelled = {
  ...named,
  translations,
  shortName: Type.String({ ...short, examples: ['No future dates'] }),
  labels: Type.Optional(LabelsBody),
  description: Type.Optional(Text),
}

export const labelledResponse = {
  ...recorded,
  ...authored,
  client: Line,
  ...labelled,
  labels: Labels,
  displayLabels: Labels,
  displayShortName: Text,
  displayDescription: Type.Optional(Text),
  access: Access,
}

/** Response fields that a body may contain and that are ignored. */
export const labelledIgnored = ['client', 'displayLabels', 'displayShortName', 'displayDescription'] as const

const checkFields = {
  /** The code is unique among the checks of a client, unless it is empty. */
  code: Type.String({ ...short, examples: ['FUTURE_DATES'] }),
  query: Type.String({
    minLength: 2,
    maxLength: 2_147_483_647,
    description:
      'One SELECT that returns the violations as rows. `${name}` is replaced by the value of a variable. Tables without a schema are searched in all schemas; a table name that exists in several schemas is rejected.',
    examples: ['select * from cases where reported > current_date'],
  }),
}

export const DataQualityCheckBody = contract(
  'DataQualityCheckBody',
  body({ ...labelled, ...checkFields, access: Type.Optional(AccessPart) }, labelledIgnored),
)
export type DataQualityCheckBody = TypeOf<typeof DataQualityCheckBody>

export const DataQualityCheck = contract(
  'DataQualityCheck',
  Type.Object({ ...labelledResponse, ...checkFields }, closed),
)
export type DataQualityCheck = TypeOf<typeof DataQualityCheck>

/** A check inside another object. Callers who may not read the check only see its name. */
export const ReferencedCheck = contract(
  'ReferencedCheck',
  Type.Object({ ...Type.Partial(DataQualityCheck).properties, id: Uid, name: Line }, closed),
)
export type ReferencedCheck = TypeOf<typeof ReferencedCheck>

export const DataQualityCheckGroupBody = contract(
  'DataQualityCheckGroupBody',
  body(
    {
      ...labelled,
      /** The checks in the order of execution. */
      dataQualityChecks: Type.Optional(Type.Array(Reference, { uniqueItems: true, maxItems: 200 })),
      access: Type.Optional(AccessPart),
    },
    labelledIgnored,
  ),
)
export type DataQualityCheckGroupBody = TypeOf<typeof DataQualityCheckGroupBody>

export const DataQualityCheckGroup = contract(
  'DataQualityCheckGroup',
  Type.Object({ ...labelledResponse, dataQualityChecks: Type.Array(ReferencedCheck, { maxItems: 200 }) }, closed),
)
export type DataQualityCheckGroup = TypeOf<typeof DataQualityCheckGroup>
