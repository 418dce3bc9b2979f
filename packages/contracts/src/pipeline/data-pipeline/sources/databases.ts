import {
  databaseQuery,
  databaseQueryIgnored,
  databaseQueryResponse,
  warehouseQuery,
  warehouseQueryResponse,
} from '../database-query.ts'
import { variant } from '../variant.ts'

const database = { given: databaseQuery, answered: databaseQueryResponse, ignored: databaseQueryIgnored }

/** Microsoft SQL Server and Azure SQL. */
export const sqlDatabaseA = variant('SQL_DATABASE_A', database)

/** MySQL and MariaDB. */
export const sqlDatabaseB = variant('SQL_DATABASE_B', database)

/** Oracle Database. */
export const sqlDatabaseC = variant('SQL_DATABASE_C', database)

/** PostgreSQL. */
export const sqlDatabaseD = variant('SQL_DATABASE_D', database)

/** Amazon Redshift: the role and the region are part of the query settings. */
export const warehouseA = variant('WAREHOUSE_A', {
  given: warehouseQuery,
  answered: warehouseQueryResponse,
  ignored: databaseQueryIgnored,
})
