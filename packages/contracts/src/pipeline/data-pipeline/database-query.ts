import { Type } from 'typebox'
import { closed } from '../../contract.ts'
import { requiredBecause } from '../../field-types.ts'
import { access } from './source-access.ts'
import { field, Name, secret } from './form-field.ts'

/** Cloud regions of databases. */
export const regions = [
  'DEFAULT',
  'US_EAST_1',
  'US_EAST_2',
  'US_WEST_1',
  'US_WEST_2',
  'AF_SOUTH_1',
  'EU_CENTRAL_1',
  'EU_WEST_1',
  'EU_WEST_2',
  'EU_WEST_3',
  'EU_SOUTH_1',
  'EU_NORTH_1',
] as const

export const databaseAccess = access(
  'JdbcSource',
  {
    hostname: field(
      requiredBecause(
        Type.String({ minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9_.:-]+$' }),
        'it is the address of the database server',
      ),
      'Host',
      'A host name or IP address, without port and scheme.',
      'db.example.org',
    ),
    port: Type.Optional(
      field(Type.Integer({ minimum: 1, maximum: 65_535 }), 'Port', 'The default port of the system when absent.', 5432),
    ),
    database: field(
      requiredBecause(Name, 'a server can have several databases'),
      'Database',
      'The name of the database; for Oracle, of the service.',
      'registry',
    ),
    username: field(
      requiredBecause(Name, 'it is the user that reads the database'),
      'User name',
      'An account with read access is sufficient.',
      'reader',
    ),
    ssl: Type.Optional(field(Type.Boolean(), 'Encrypted', 'Connect by TLS only; false when absent.', true)),
    trustServerCertificate: Type.Optional(
      field(
        Type.Boolean(),
        'Accept any certificate',
        'With TLS: accept any certificate of the server; false when absent.',
        false,
      ),
    ),
  },
  { password: secret('Password', 'The password of the account.', 'the password') },
)

const TableMetadata = Type.Object(
  { schema: Type.Optional(Name), name: requiredBecause(Name, 'it is the name of the table to read') },
  { ...closed, title: 'TableMetadata' },
)

const question = {
  sqlQuery: Type.Optional(
    field(
      Type.String({ minLength: 1, maxLength: 100_000 }),
      'Query',
      'One statement that only reads data. Set either this or tables.',
      'select * from cases where year = 2026',
    ),
  ),
  tables: Type.Optional(
    field(
      Type.Array(TableMetadata, { maxItems: 100 }),
      'Tables',
      'Set either these or a query. One table fills the target table. Several fill one table each, `<target>__<name>`; this version loads one.',
      [{ schema: 'public', name: 'cases' }],
    ),
  ),
}

const roleIdentifier = field(
  Name,
  'Role',
  'The ARN of the role that reads and writes files on behalf of the warehouse.',
  'arn:aws:iam::123456789012:role/unload',
)
const region = field(
  Type.Enum([...regions]),
  'Region',
  'The region of the warehouse. DEFAULT is the region of the service.',
  'EU_WEST_1',
)

const computed = {
  defaultPort: Type.Integer({ minimum: 1, maximum: 65_535 }),
  /** The JDBC URL, without credentials. */
  jdbcConnectionUrl: Type.String({ maxLength: 2000 }),
}

// Fields that only Redshift uses. The service also stores and returns them for other databases.
const redshiftFields = { roleIdentifier: Type.Optional(roleIdentifier), region: Type.Optional(region) }

export const databaseQuery = { jdbcSource: databaseAccess.given, ...question, ...redshiftFields }

/** Response fields that a body may contain and that are ignored. */
export const databaseQueryIgnored = ['defaultPort', 'jdbcConnectionUrl']

export const databaseQueryResponse = {
  jdbcSource: databaseAccess.answered,
  ...question,
  ...redshiftFields,
  ...computed,
}

/** Body fields of a pipeline that queries Redshift, which requires the role and the region. */
export const warehouseQuery = { jdbcSource: databaseAccess.given, ...question, roleIdentifier, region }

export const warehouseQueryResponse = {
  jdbcSource: databaseAccess.answered,
  ...question,
  roleIdentifier,
  region,
  ...computed,
}
