import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../../contract.ts'
import { body } from '../../named.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody } from './base.ts'
import { databaseQuery, databaseQueryIgnored, databaseQueryResponse } from './database-query.ts'

const type = Type.Literal('SQL_DATABASE_B')

/** MySQL and MariaDB. */
export const SqlDatabaseBPipelineBody = contract(
  'SqlDatabaseBPipelineBody',
  body({ ...baseFields, type, ...databaseQuery }, [...baseIgnored, ...databaseQueryIgnored]),
)
export type SqlDatabaseBPipelineBody = TypeOf<typeof SqlDatabaseBPipelineBody>

export const SqlDatabaseBSourceBody = contract(
  'SqlDatabaseBSourceBody',
  sourceBody({ type, ...databaseQuery }, databaseQueryIgnored),
)

export const SqlDatabaseBPipeline = contract(
  'SqlDatabaseBPipeline',
  Type.Object({ ...baseResponse, type, ...databaseQueryResponse }, closed),
)
export type SqlDatabaseBPipeline = TypeOf<typeof SqlDatabaseBPipeline>
