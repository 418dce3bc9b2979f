import { defineSignature } from '../../operation-signature.ts'
import { exportFileTypes } from '../export-format.ts'
import { ExplainBody, QueryBody, QueryFormat, ExplainedQuery, SqlQueryResult } from '../query.ts'

const guard = ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE'] as const

export const querySignatures = {
  run: defineSignature({
    id: 'queries.run',
    summary: 'Run a query on all loaded data',
    description:
      'Runs a query that only reads. The first row must arrive within 28 seconds. The query is cancelled when the connection closes. A response as a file, such as CSV, has all rows, without the limit of JSON responses. The audit log records the caller, the query and the number of rows.',
    method: 'post',
    path: '/queries',
    guard,
    effect: 'read',
    query: QueryFormat,
    body: QueryBody,
    fileTypes: exportFileTypes,
    response: SqlQueryResult,
  }),
  explain: defineSignature({
    id: 'queries.explain',
    summary: 'Show how the warehouse would run a query, without running it',
    description:
      'Returns 422 for SQL Server and Azure Synapse, because Sluice cannot read the query plans of these databases.',
    method: 'post',
    path: '/queries/explain',
    guard,
    effect: 'read',
    body: ExplainBody,
    response: ExplainedQuery,
  }),
}
