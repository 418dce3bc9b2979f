import { Type } from 'typebox'
import { closed } from '../../contract.ts'
import { Line } from '../../named.ts'

/** Where cloud databases are. */
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

/** What each database listens on when nobody says otherwise. */
export const defaultPorts = {
  SQL_DATABASE_A: 1433,
  SQL_DATABASE_B: 3306,
  SQL_DATABASE_C: 1521,
  SQL_DATABASE_D: 5432,
} as const

const name = Type.String({ minLength: 1, maxLength: 255, pattern: '^\\P{Cc}*$', examples: ['registry'] })

const server = {
  hostname: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: '^[A-Za-z0-9_.:-]+$',
    examples: ['db.example.org'],
    description: 'A name or an address, without port and scheme.',
  }),
  port: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 65_535, description: 'The usual one of the system when absent.' }),
  ),
  /** Of Oracle: the service. */
  database: name,
  username: name,
  ssl: Type.Optional(Type.Boolean({ description: 'Connect by TLS only; false when absent.' })),
  trustServerCertificate: Type.Optional(
    Type.Boolean({ description: 'With TLS: take whatever certificate the server shows; false when absent.' }),
  ),
}

const Password = Type.String({ minLength: 1, maxLength: 1000, pattern: '^\\P{Cc}*$', examples: ['the password'] })

const TableMetadata = Type.Object({ schema: Type.Optional(name), name }, { ...closed, title: 'TableMetadata' })

const what = {
  sqlQuery: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100_000, description: 'One statement that reads. Either this or tables.' }),
  ),
  tables: Type.Optional(Type.Array(TableMetadata, { maxItems: 100, description: 'Either these or sqlQuery.' })),
  // Only WAREHOUSE_A needs these two; the databases keep them and give them back.
  roleIdentifier: Type.Optional(Line),
  region: Type.Optional(Type.Enum([...regions])),
}

/** What a pipeline takes that asks a database. */
export const databaseQuery = {
  jdbcSource: Type.Object(
    {
      ...server,
      password: Type.Optional(
        Type.Union([Password, Type.Null()], {
          writeOnly: true,
          description: 'Never answered: absent keeps the stored one, null clears it.',
        }),
      ),
    },
    { ...closed, title: 'JdbcSourceBody' },
  ),
  ...what,
}

/** What its response adds, which a client may send back. */
export const databaseQueryIgnored = ['defaultPort', 'jdbcConnectionUrl']

export const databaseQueryResponse = {
  jdbcSource: Type.Object(server, { ...closed, title: 'JdbcSource' }),
  ...what,
  defaultPort: Type.Integer({ minimum: 1, maximum: 65_535 }),
  /** Without credentials. */
  jdbcConnectionUrl: Type.String({ maxLength: 2000 }),
}
