import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../../contract.ts'
import { body } from '../../named.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody } from './base.ts'
import { databaseQuery, databaseQueryIgnored, databaseQueryResponse } from './database-query.ts'

const type = Type.Literal('SQL_DATABASE_C')

/** Oracle Database. */
export const SqlDatabaseCPipelineBody = contract(
  'SqlDatabaseCPipelineBody',
  body({ ...baseFields, type, ...databaseQuery }, [...baseIgnored, ...databaseQueryIgnored]),
)
export type SqlDatabaseCPipelineBody = TypeOf<typeof SqlDatabaseCPipelineBody>

export const SqlDatabaseCSourceBody = contract(
  'SqlDatabaseCSourceBody',
  sourceBody({ type, ...databaseQuery }, databaseQueryIgnored),
)

export const SqlDatabaseCPipeline = contract(
  'SqlDatabaseCPipeline',
  Type.Object({ ...baseResponse, type, ...databaseQueryResponse }, closed),
)
export type SqlDatabaseCPipeline = TypeOf<typeof SqlDatabaseCPipeline>
