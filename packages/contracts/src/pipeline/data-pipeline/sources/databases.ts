import {
  databaseQuery,
  databaseQueryIgnored,
  databaseQueryResponse,
  warehouseQuery,
  warehouseQueryResponse,
} from '../database-query.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

const databaseVariantFields = {
  requestFields: databaseQuery,
  responseFields: databaseQueryResponse,
  ignored: databaseQueryIgnored,
}

export const sqlServer = definePipelineVariant(connectorTypes.sqlServer, databaseVariantFields)

export const mysqlVariant = definePipelineVariant(connectorTypes.mysql, databaseVariantFields)

export const oracleVariant = definePipelineVariant(connectorTypes.oracle, databaseVariantFields)

export const postgresVariant = definePipelineVariant(connectorTypes.postgres, databaseVariantFields)

/** Amazon Redshift. The role and the region are part of its query settings. */
export const redshiftVariant = definePipelineVariant(connectorTypes.redshift, {
  requestFields: warehouseQuery,
  responseFields: warehouseQueryResponse,
  ignored: databaseQueryIgnored,
})
