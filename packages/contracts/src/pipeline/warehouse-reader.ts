import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import {
  authorFields,
  permittedFields,
  defineRequestBody,
  LongText,
  namedFields,
  ObjectReference,
  recordFields,
  requiredBecause,
  SingleLineText,
  Timestamp,
} from '../field-types.ts'
import { ReferencedSchema } from './schema.ts'

const Network = Type.String({
  maxLength: 43,
  pattern: '^[0-9a-fA-F.:]{2,39}/[0-9]{1,3}$',
  examples: ['192.0.2.0/24'],
})

const readerFields = {
  ...namedFields,
  expires: Type.Optional({
    ...Timestamp,
    examples: ['2027-12-31T00:00:00Z'],
    description: 'The login ends at this time. Default: never.',
  }),
  networks: Type.Optional(
    Type.Array(Network, {
      maxItems: 50,
      uniqueItems: true,
      description:
        'The networks from which the login may connect, as CIDR blocks. An empty list allows all networks. Setting it needs ROLE_MANAGE_FIREWALL_RULE, and seeing it ROLE_SEE_FIREWALL_RULE. If omitted, the stored list stays.',
    }),
  ),
}

export const WarehouseReaderBody = defineContract(
  'WarehouseReaderBody',
  defineRequestBody(
    {
      ...readerFields,
      schemas: requiredBecause(
        Type.Array(ObjectReference, {
          minItems: 1,
          maxItems: 100,
          description: 'The schemas whose tables and views the login reads. All of them are in one warehouse.',
        }),
        'they are what the login reads',
      ),
    },
    ['client', 'readerStatus', 'lastUsed', 'connection'],
  ),
)
export type WarehouseReaderBody = TypeOf<typeof WarehouseReaderBody>

/**
 * The address of the warehouse. Absent if the operator has removed the warehouse, or its address, from the settings.
 */
const connection = {
  host: Type.Optional(SingleLineText),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  database: Type.Optional({
    ...SingleLineText,
    description:
      'The database to connect to. In ClickHouse, where each schema is a database, the first of the schemas that the reader may read.',
  }),
  user: SingleLineText,
  sslMode: Type.Optional(
    Type.Enum(['prefer', 'require', 'verify-full'], {
      description:
        'As in libpq. For verify-full, programs need the certificate of `GET /warehouse-readers/certificate`.',
    }),
  ),
}

const readerStatus = ['ACTIVE', 'EXPIRED', 'PENDING'] as const

const answeredFields = {
  ...recordFields,
  ...authorFields,
  ...permittedFields,
  client: SingleLineText,
  ...readerFields,
  schemas: Type.Array(ReferencedSchema, { maxItems: 100 }),
  readerStatus: Type.Enum([...readerStatus], {
    description:
      'ACTIVE: the login works as described here. PENDING: the last change is stored, and the warehouse does not have it yet; a worker tries again every five seconds. EXPIRED: the time in `expires` has passed.',
  }),
  lastUsed: Type.Optional({
    ...Timestamp,
    description:
      'The last time at which a worker saw an open session. It can be a minute too early, and sessions of less than five seconds may be missed.',
  }),
  connection: Type.Object(connection, { ...noUnknownFields, title: 'ReaderConnection' }),
}

export const WarehouseReader = defineContract('WarehouseReader', Type.Object(answeredFields, noUnknownFields))
export type WarehouseReader = TypeOf<typeof WarehouseReader>

/** The only response with the password. Neither the service nor the warehouse stores the password in clear text. */
export const NewWarehouseReader = defineContract(
  'NewWarehouseReader',
  Type.Object(
    {
      ...answeredFields,
      password: Type.String({
        maxLength: 100,
        description: 'The password of the reader. Only this response contains it.',
      }),
      connectionStrings: Type.Object(
        {
          libpq: Type.Optional({ ...LongText, description: 'For psql, R, Python and other programs that use libpq.' }),
          jdbc: { ...LongText, description: 'For programs written in Java.' },
          odbc: { ...LongText, description: 'For Excel, Power BI and other programs with an ODBC driver.' },
          sqlalchemy: { ...LongText, description: 'For pandas, Superset and other programs that use SQLAlchemy.' },
        },
        { ...noUnknownFields, title: 'ConnectionStrings' },
      ),
    },
    noUnknownFields,
  ),
)
export type NewWarehouseReader = TypeOf<typeof NewWarehouseReader>

export const WarehouseCertificate = defineContract(
  'WarehouseCertificate',
  Type.Object(
    {
      certificate: Type.String({
        maxLength: 100_000,
        description: 'The certificates of the authority that signed the server’s certificate, in PEM format.',
      }),
    },
    noUnknownFields,
  ),
)
export type WarehouseCertificate = TypeOf<typeof WarehouseCertificate>
