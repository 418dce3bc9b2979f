import {
  databaseQuery,
  databaseQueryIgnored,
  databaseQueryResponse,
  warehouseQuery,
  warehouseQueryResponse,
} from '../database-query.ts'
import { connectorTypes } from '../systems.ts'
import { variant } from '../variant.ts'

const database = { given: databaseQuery, answered: databaseQueryResponse, ignored: databaseQueryIgnored }

/** Microsoft SQL Server and Azure SQL. */
export const sqlServer = variant(connectorTypes.sqlServer, database)

/** MySQL and MariaDB. */
export const mysql = variant(connectorTypes.mysql, database)

/** Oracle Database. */
export const oracle = variant(connectorTypes.oracle, database)

/** PostgreSQL. */
export const postgres = variant(connectorTypes.postgres, database)

/** Amazon Redshift: the role and the region are part of the query settings. */
export const redshift = variant(connectorTypes.redshift, {
  given: warehouseQuery,
  answered: warehouseQueryResponse,
  ignored: databaseQueryIgnored,
})
