import {
  databaseQuery,
  databaseQueryIgnored,
  databaseQueryResponse,
  warehouseQuery,
  warehouseQueryResponse,
} from '../database-query.ts'
import { connectorTypes } from '../connector-types.ts'
import { variant } from '../pipeline-variant.ts'

const database = { given: databaseQuery, answered: databaseQueryResponse, ignored: databaseQueryIgnored }

export const sqlServer = variant(connectorTypes.sqlServer, database)

export const mysql = variant(connectorTypes.mysql, database)

export const oracle = variant(connectorTypes.oracle, database)

export const postgres = variant(connectorTypes.postgres, database)

/** Amazon Redshift: the role and the region are part of the query settings. */
export const redshift = variant(connectorTypes.redshift, {
  given: warehouseQuery,
  answered: warehouseQueryResponse,
  ignored: databaseQueryIgnored,
})
