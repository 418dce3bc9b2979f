import { Type } from 'typebox'
import { ObjectAccess, AccessPart } from '../object-access.ts'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import {
  authorFields,
  bodyOf,
  defineRequestBody,
  ignoredSecretStatus,
  SingleLineText,
  namedAndDescribed,
  permittedFields,
  requiredBecause,
  recordFields,
  secretStatusField,
  LongText,
  Uid,
} from '../field-types.ts'
import { scheduledBody, scheduledIgnored, scheduledResponse } from '../schedule.ts'
import { connectorTypes } from './data-pipeline/connector-types.ts'
import { RunStatus } from './run.ts'
import { View } from './view.ts'

export const destinationTypes = [connectorTypes.dhis2] as const

const IdentifierScheme = Type.String({
  maxLength: 30,
  pattern:
    '^([Uu][Ii][Dd]|[Cc][Oo][Dd][Ee]|[Nn][Aa][Mm][Ee]|[Aa][Tt][Tt][Rr][Ii][Bb][Uu][Tt][Ee]:[A-Za-z][A-Za-z0-9]{10})$',
  examples: ['CODE', 'ATTRIBUTE:DnrLSdo4hMl'],
  description: 'The identifiers in the view: UID, CODE, NAME or ATTRIBUTE: with the id of an attribute.',
})

const ImportOptions = Type.Object(
  {
    dataElementIdScheme: Type.Optional(IdentifierScheme),
    orgUnitIdScheme: Type.Optional(IdentifierScheme),
    categoryOptionComboIdScheme: Type.Optional(IdentifierScheme),
    idScheme: Type.Optional({
      ...IdentifierScheme,
      description: 'The default for the other identifier schemes. Default: `UID`.',
    }),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Whether DHIS2 only checks the values and stores nothing. Default: false.' }),
    ),
  },
  { ...noUnknownFields, title: 'ImportOptions' },
)

export const TargetUrl = Type.String({
  minLength: 8,
  maxLength: 2000,
  pattern: '^https?://\\P{Cc}+$',
  examples: ['https://play.example.org/dhis'],
  description: 'The base address of DHIS2, without /api.',
})
const TargetUsername = Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\p{Cc}:]*$', examples: ['importer'] })

const keptSecretFields = {
  writeOnly: true,
  description: 'Responses omit it. An absent or null value keeps the stored one; an empty text deletes it.',
}
export const TargetPassword = Type.String({
  minLength: 1,
  maxLength: 1000,
  pattern: '^\\P{Cc}*$',
  examples: ['the password'],
})
export const TargetToken = Type.String({
  minLength: 1,
  maxLength: 1000,
  pattern: '^[\\x21-\\x7e]*$',
  examples: ['d2pat_5xVA12xyUbWNedQxy4ohH77WlxRGVvZZ1151814092'],
})

const targetUrlField = requiredBecause(TargetUrl, 'it is the system that receives the rows')
const apiTarget = { url: targetUrlField, username: Type.Optional(TargetUsername) }
const apiTokenTarget = { url: targetUrlField }

/** The names of the secrets for each kind of target. */
export const targetSecrets = { apiTarget: ['password'], apiTokenTarget: ['authToken'] } as const

const destinationFields = {
  ...namedAndDescribed,
  description: Type.Optional(LongText),
  importOptions: Type.Optional(ImportOptions),
}

export const DestinationBody = defineContract(
  'DestinationBody',
  defineRequestBody(
    {
      ...destinationFields,
      ...scheduledBody,
      type: Type.Optional(Type.Enum([...destinationTypes])),
      viewSource: Type.Object({ id: Uid }, { title: 'ViewReference', maxProperties: 200 }),
      /** The body contains either `apiTarget` or `apiTokenTarget`. */
      apiTarget: Type.Optional(
        Object.assign(
          bodyOf(
            { ...apiTarget, password: Type.Optional(Type.Union([TargetPassword, Type.Null()], keptSecretFields)) },
            ignoredSecretStatus,
          ),
          { title: 'ApiTargetBody' },
        ),
      ),
      apiTokenTarget: Type.Optional(
        Object.assign(
          bodyOf(
            { ...apiTokenTarget, authToken: Type.Optional(Type.Union([TargetToken, Type.Null()], keptSecretFields)) },
            ignoredSecretStatus,
          ),
          { title: 'ApiTokenTargetBody' },
        ),
      ),
      access: Type.Optional(AccessPart),
    },
    ['client', ...scheduledIgnored, 'displayDescription'],
  ),
)
export type DestinationBody = TypeOf<typeof DestinationBody>

/** The view of a destination. Callers who may not read the view see only its name. */
export const ReferencedView = defineContract(
  'ReferencedView',
  Type.Object({ ...Type.Partial(View).properties, id: Uid, name: SingleLineText }, noUnknownFields),
)
export type ReferencedView = TypeOf<typeof ReferencedView>

export const Destination = defineContract(
  'Destination',
  Type.Object(
    {
      ...recordFields,
      ...authorFields,
      ...permittedFields,
      client: SingleLineText,
      ...destinationFields,
      ...scheduledResponse,
      type: Type.Enum([...destinationTypes]),
      viewSource: ReferencedView,
      importOptions: ImportOptions,
      apiTarget: Type.Optional(
        Type.Object(
          { ...apiTarget, secretStatus: secretStatusField(targetSecrets.apiTarget) },
          { ...noUnknownFields, title: 'ApiTarget' },
        ),
      ),
      apiTokenTarget: Type.Optional(
        Type.Object(
          { ...apiTokenTarget, secretStatus: secretStatusField(targetSecrets.apiTokenTarget) },
          { ...noUnknownFields, title: 'ApiTokenTarget' },
        ),
      ),
      status: RunStatus,
      access: ObjectAccess,
      displayDescription: Type.Optional(LongText),
    },
    noUnknownFields,
  ),
)
export type Destination = TypeOf<typeof Destination>

const targetCredentials = {
  username: Type.Optional(TargetUsername),
  password: Type.Optional({ ...TargetPassword, writeOnly: true }),
  authToken: Type.Optional({ ...TargetToken, writeOnly: true }),
}

/** The address and the credentials of a target: a username and a password, or a token. */
export const TargetBody = defineContract(
  'TargetBody',
  Type.Object({ url: TargetUrl, ...targetCredentials }, noUnknownFields),
)
export type TargetBody = TypeOf<typeof TargetBody>

/** The DHIS2 server that lists options. An absent field has the value of the stored destination. */
export const TargetLookupBody = defineContract(
  'TargetLookupBody',
  Type.Object(
    {
      url: Type.Optional(TargetUrl),
      ...targetCredentials,
      query: Type.Optional({ ...SingleLineText, description: 'Returns only options whose name contains this text.' }),
    },
    noUnknownFields,
  ),
)
export type TargetLookupBody = TypeOf<typeof TargetLookupBody>
