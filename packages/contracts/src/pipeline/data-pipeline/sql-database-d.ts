import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../../contract.ts'
import { body } from '../../named.ts'
import { baseFields, baseIgnored, baseResponse, sourceBody } from './base.ts'
import { databaseQuery, databaseQueryIgnored, databaseQueryResponse } from './database-query.ts'

const type = Type.Literal('SQL_DATABASE_D')

/** PostgreSQL. */
export const SqlDatabaseDPipelineBody = contract(
  'SqlDatabaseDPipelineBody',
  body({ ...baseFields, type, ...databaseQuery }, [...baseIgnored, ...databaseQueryIgnored]),
)
export type SqlDatabaseDPipelineBody = TypeOf<typeof SqlDatabaseDPipelineBody>

export const SqlDatabaseDSourceBody = contract(
  'SqlDatabaseDSourceBody',
  sourceBody({ type, ...databaseQuery }, databaseQueryIgnored),
)

export const SqlDatabaseDPipeline = contract(
  'SqlDatabaseDPipeline',
  Type.Object({ ...baseResponse, type, ...databaseQueryResponse }, closed),
)
export type SqlDatabaseDPipeline = TypeOf<typeof SqlDatabaseDPipeline>
