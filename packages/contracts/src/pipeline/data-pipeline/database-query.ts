import { Type } from 'typebox'
import { noUnknownFields } from '../../contract.ts'
import { requiredBecause } from '../../field-types.ts'
import { defineSourceAccess } from './source-credentials.ts'
import { describeField, SourceName, defineSecretField } from './form-field.ts'

/** Cloud regions of databases. */
export const cloudRegions = [
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

export const databaseAccess = defineSourceAccess(
  'JdbcSource',
  {
    hostname: describeField(
      requiredBecause(
        Type.String({ minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9_.:-]+$' }),
        'it is the address of the database server',
      ),
      'Host',
      'A host name or IP address, without port and scheme.',
      'db.example.org',
    ),
    port: Type.Optional(
      describeField(
        Type.Integer({ minimum: 1, maximum: 65_535 }),
        'Port',
        'Default: the standard port of the system.',
        5432,
      ),
    ),
    database: describeField(
      requiredBecause(SourceName, 'a server can have several databases'),
      'Database',
      'The name of the database; for Oracle, of the service.',
      'registry',
    ),
    username: describeField(
      requiredBecause(SourceName, 'it is the user that reads the database'),
      'User name',
      'An account with read access is sufficient.',
      'reader',
    ),
    ssl: Type.Optional(describeField(Type.Boolean(), 'Encrypted', 'Connect by TLS only. Default: false.', true)),
    trustServerCertificate: Type.Optional(
      describeField(
        Type.Boolean(),
        'Accept any certificate',
        'With TLS: accept any certificate of the server. Default: false.',
        false,
      ),
    ),
  },
  { password: defineSecretField('Password', 'The password of the account.', 'the password') },
)

const IncrementalRead = Type.Object(
  {
    cursorColumn: requiredBecause(
      describeField(
        SourceName,
        'Cursor column',
        'The column that each change of a row increases: a date, a timestamp, an integer or a decimal.',
        'updated_at',
      ),
      'an increment reads the rows with a cursor that is not smaller than the largest one before',
    ),
    key: requiredBecause(
      describeField(
        Type.Array(SourceName, { minItems: 1, maxItems: 32, uniqueItems: true }),
        'Key',
        'The columns that identify a row. They are never null, and their values never change.',
        ['id'],
      ),
      'the rows of an increment replace rows with the same key',
    ),
    lookback: Type.Optional(
      describeField(
        Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
        'Look back',
        'How far before the largest cursor an increment starts to read, because rows may become visible late: in seconds for a date or timestamp, otherwise as a difference of numbers. Default: 0.',
        600,
      ),
    ),
    deletedColumn: Type.Optional(
      describeField(
        SourceName,
        'Deleted column',
        'The column that marks deleted rows by true, by a number other than 0, or by a date or timestamp. Marked rows are not loaded, and an increment deletes them.',
        'deleted_at',
      ),
    ),
  },
  { ...noUnknownFields, title: 'IncrementalRead' },
)

const TableMetadata = Type.Object(
  {
    schema: Type.Optional(SourceName),
    name: requiredBecause(SourceName, 'it is the name of the table to read'),
    incremental: Type.Optional({
      ...IncrementalRead,
      description: 'The increments of this table. Default: `incremental` of the pipeline.',
    }),
  },
  { ...noUnknownFields, title: 'TableMetadata' },
)

const querySelectionFields = {
  sqlQuery: Type.Optional(
    describeField(
      Type.String({ minLength: 1, maxLength: 100_000 }),
      'Query',
      'One statement that only reads data. Set either this or `tables`.',
      'select * from cases where year = 2026',
    ),
  ),
  tables: Type.Optional(
    describeField(
      Type.Array(TableMetadata, { maxItems: 100 }),
      'Tables',
      'Set either this or `sqlQuery`. One table fills the target table. Several tables are read as of one moment and fill one table each, `<target>__<name>`, and the target table lists them. A run loads all of them or none.',
      [{ schema: 'public', name: 'cases' }],
    ),
  ),
  incremental: Type.Optional(
    describeField(
      IncrementalRead,
      'Incremental',
      'Allows incremental runs, which read new and changed rows only. Without it, each run reads everything.',
      { cursorColumn: 'updated_at', key: ['id'], lookback: 600 },
    ),
  ),
}

const roleIdentifier = describeField(
  SourceName,
  'Role',
  'The ARN of the role that reads and writes files on behalf of the warehouse.',
  'arn:aws:iam::123456789012:role/unload',
)
const regionField = describeField(
  Type.Enum([...cloudRegions]),
  'Region',
  'The region of the warehouse. DEFAULT is the region of the service.',
  'EU_WEST_1',
)

const computedFields = {
  defaultPort: Type.Integer({ minimum: 1, maximum: 65_535 }),
  /** The JDBC URL without credentials. */
  jdbcConnectionUrl: Type.String({ maxLength: 2000 }),
}

// Fields that only Redshift uses. For other databases, the service only stores and returns them.
const redshiftFields = { roleIdentifier: Type.Optional(roleIdentifier), region: Type.Optional(regionField) }

export const databaseQuery = { jdbcSource: databaseAccess.requestSchema, ...querySelectionFields, ...redshiftFields }

/** Response fields that a body may contain and that are ignored. */
export const databaseQueryIgnored = ['defaultPort', 'jdbcConnectionUrl']

export const databaseQueryResponse = {
  jdbcSource: databaseAccess.responseSchema,
  ...querySelectionFields,
  ...redshiftFields,
  ...computedFields,
}

/** Body fields of a pipeline that queries Redshift. It requires the role and the region. */
export const warehouseQuery = {
  jdbcSource: databaseAccess.requestSchema,
  ...querySelectionFields,
  roleIdentifier,
  region: regionField,
}

export const warehouseQueryResponse = {
  jdbcSource: databaseAccess.responseSchema,
  ...querySelectionFields,
  roleIdentifier,
  region: regionField,
  ...computedFields,
}
