import { Type } from 'typebox'
import { Access, AccessPart } from '../object-access.ts'
import { closed, contract, type TypeOf } from '../contract.ts'
import { authored, body, Line, namedAndDescribed, requiredBecause, recorded, Text, Uid } from '../field-types.ts'
import { scheduled, scheduledIgnored, scheduledResponse } from '../schedule.ts'
import { connectorTypes } from './data-pipeline/connector-types.ts'
import { RunStatus } from './run.ts'
import { View } from './view.ts'

export const destinationTypes = [connectorTypes.dhis2] as const

const Scheme = Type.String({
  maxLength: 30,
  pattern:
    '^([Uu][Ii][Dd]|[Cc][Oo][Dd][Ee]|[Nn][Aa][Mm][Ee]|[Aa][Tt][Tt][Rr][Ii][Bb][Uu][Tt][Ee]:[A-Za-z][A-Za-z0-9]{10})$',
  examples: ['CODE', 'ATTRIBUTE:DnrLSdo4hMl'],
  description: 'The identifiers in the view: UID, CODE, NAME or ATTRIBUTE: with the id of an attribute.',
})

const ImportOptions = Type.Object(
  {
    dataElementIdScheme: Type.Optional(Scheme),
    orgUnitIdScheme: Type.Optional(Scheme),
    categoryOptionComboIdScheme: Type.Optional(Scheme),
    idScheme: Type.Optional({
      ...Scheme,
      description: 'The default for the other identifier schemes; UID when absent.',
    }),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Whether DHIS2 only checks the values and stores nothing; false when absent.' }),
    ),
  },
  { ...closed, title: 'ImportOptions' },
)

export const TargetUrl = Type.String({
  minLength: 8,
  maxLength: 2000,
  pattern: '^https?://\\P{Cc}+$',
  examples: ['https://play.example.org/dhis'],
  description: 'The base address of DHIS2, without /api.',
})
const Username = Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\p{Cc}:]*$', examples: ['importer'] })

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

const url = requiredBecause(TargetUrl, 'it is the system that receives the rows')
const apiTarget = { url, username: Type.Optional(Username) }
const apiTokenTarget = { url }

const destinationFields = {
  ...namedAndDescribed,
  description: Type.Optional(Text),
  importOptions: Type.Optional(ImportOptions),
}

export const DestinationBody = contract(
  'DestinationBody',
  body(
    {
      ...destinationFields,
      ...scheduled,
      type: Type.Optional(Type.Enum([...destinationTypes])),
      viewSource: Type.Object({ id: Uid }, { title: 'ViewReference', maxProperties: 200 }),
      /** The body contains either `apiTarget` or `apiTokenTarget`. */
      apiTarget: Type.Optional(
        Type.Object(
          { ...apiTarget, password: Type.Optional(Type.Union([TargetPassword, Type.Null()], keptSecretFields)) },
          { ...closed, title: 'ApiTargetBody' },
        ),
      ),
      apiTokenTarget: Type.Optional(
        Type.Object(
          { ...apiTokenTarget, authToken: Type.Optional(Type.Union([TargetToken, Type.Null()], keptSecretFields)) },
          { ...closed, title: 'ApiTokenTargetBody' },
        ),
      ),
      access: Type.Optional(AccessPart),
    },
    ['client', ...scheduledIgnored, 'displayDescription'],
  ),
)
export type DestinationBody = TypeOf<typeof DestinationBody>

/** The view of a destination. Callers who may not read the view only see its name. */
export const ReferencedView = contract(
  'ReferencedView',
  Type.Object({ ...Type.Partial(View).properties, id: Uid, name: Line }, closed),
)
export type ReferencedView = TypeOf<typeof ReferencedView>

export const Destination = contract(
  'Destination',
  Type.Object(
    {
      ...recorded,
      ...authored,
      client: Line,
      ...destinationFields,
      ...scheduledResponse,
      type: Type.Enum([...destinationTypes]),
      viewSource: ReferencedView,
      importOptions: ImportOptions,
      apiTarget: Type.Optional(Type.Object(apiTarget, { ...closed, title: 'ApiTarget' })),
      apiTokenTarget: Type.Optional(Type.Object(apiTokenTarget, { ...closed, title: 'ApiTokenTarget' })),
      status: RunStatus,
      access: Access,
      displayDescription: Type.Optional(Text),
    },
    closed,
  ),
)
export type Destination = TypeOf<typeof Destination>

const credentials = {
  username: Type.Optional(Username),
  password: Type.Optional({ ...TargetPassword, writeOnly: true }),
  authToken: Type.Optional({ ...TargetToken, writeOnly: true }),
}

/** The address and the credentials of a target: a username and a password, or a token. */
export const TargetBody = contract('TargetBody', Type.Object({ url: TargetUrl, ...credentials }, closed))
export type TargetBody = TypeOf<typeof TargetBody>

/** The connection for a look-up. Absent fields have the values of the stored destination. */
export const TargetLookupBody = contract(
  'TargetLookupBody',
  Type.Object(
    {
      url: Type.Optional(TargetUrl),
      ...credentials,
      query: Type.Optional({ ...Line, description: 'Returns only options whose name contains this text.' }),
    },
    closed,
  ),
)
export type TargetLookupBody = TypeOf<typeof TargetLookupBody>
