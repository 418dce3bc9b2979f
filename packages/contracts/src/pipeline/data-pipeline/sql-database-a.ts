import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../../contract.ts'
import { body } from '../../named.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody } from './base.ts'
import { databaseQuery, databaseQueryIgnored, databaseQueryResponse } from './database-query.ts'

const type = Type.Literal('SQL_DATABASE_A')

/** Microsoft SQL Server and Azure SQL. */
export const SqlDatabaseAPipelineBody = contract(
  'SqlDatabaseAPipelineBody',
  body({ ...baseFields, type, ...databaseQuery }, [...baseIgnored, ...databaseQueryIgnored]),
)
export type SqlDatabaseAPipelineBody = TypeOf<typeof SqlDatabaseAPipelineBody>

export const SqlDatabaseASourceBody = contract(
  'SqlDatabaseASourceBody',
  sourceBody({ type, ...databaseQuery }, databaseQueryIgnored),
)

export const SqlDatabaseAPipeline = contract(
  'SqlDatabaseAPipeline',
  Type.Object({ ...baseResponse, type, ...databaseQueryResponse }, closed),
)
export type SqlDatabaseAPipeline = TypeOf<typeof SqlDatabaseAPipeline>
