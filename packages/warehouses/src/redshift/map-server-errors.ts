import { types } from 'node:util'
import { DatabaseError } from 'pg'
import { isUnavailable } from '@sluice/database'
import type { QueryProblem, ServerProblem } from '../sql-warehouse/sql-dialect.ts'
import { asSentence } from '@sluice/process'

/** The problem for a server error. `message` is the server's message. */
interface RedshiftProblemTemplate {
  code: string
  sentence: (qualifiedName: string, message: string) => string
  retryable?: true
}

const serverUnavailable: RedshiftProblemTemplate = {
  code: 'WAREHOUSE_UNAVAILABLE',
  sentence: () => 'The warehouse server is unreachable. Try again in a moment.',
  retryable: true,
}
const serverBusy: RedshiftProblemTemplate = {
  code: 'WAREHOUSE_BUSY',
  sentence: (qualifiedName) =>
    `${qualifiedName} is locked by another session, or the cluster is overloaded. Try again in a moment.`,
  retryable: true,
}
const accessDenied: RedshiftProblemTemplate = {
  code: 'WAREHOUSE_ACCESS_DENIED',
  sentence: () => 'The Redshift cluster rejected the credentials of Sluice. An operator has to check REDSHIFT_URL.',
}
const badValue: RedshiftProblemTemplate = {
  code: 'BAD_VALUE',
  sentence: (qualifiedName, message) => `The warehouse cannot store a value of ${qualifiedName}: ${message}`,
}
const refused: RedshiftProblemTemplate = {
  code: 'WAREHOUSE_REFUSED',
  sentence: (_, message) => `The warehouse rejected the operation: ${message}`,
}
const diskFull: RedshiftProblemTemplate = {
  code: 'DISK_FULL',
  sentence: () => 'The disk of the warehouse is full. Delete unused tables or enlarge the disk, then run again.',
}

const queryTimeout: RedshiftProblemTemplate = {
  code: 'QUERY_TIMEOUT',
  sentence: (qualifiedName) =>
    `The statement on ${qualifiedName} exceeded its time limit and was stopped. Simplify it or process fewer rows.`,
}

/**
 * Problems by SQLSTATE, or by its first two or three characters. Redshift has most codes from PostgreSQL and uses XX000
 * for its own errors. Classes: 08 connection, 22 value, 28 login, 40 conflict, 53 resources, 54 limits, 57P shutdown.
 */
const templatesBySqlstate: Record<string, RedshiftProblemTemplate> = {
  '08': serverUnavailable,
  '57P': serverUnavailable,
  '28': accessDenied,
  '3D000': {
    code: 'WAREHOUSE_MISSING',
    sentence: () =>
      'The client’s database on the Redshift cluster does not exist. An operator has to check REDSHIFT_URL.',
  },
  '3F000': {
    code: 'SCHEMA_MISSING',
    sentence: (qualifiedName) => `The schema of ${qualifiedName} does not exist. Create it first.`,
  },
  '42P01': {
    code: 'TABLE_MISSING',
    sentence: (qualifiedName) => `${qualifiedName} does not exist. Load it first.`,
  },
  '42501': {
    code: 'WAREHOUSE_FORBIDDEN',
    sentence: (qualifiedName, message) => `The warehouse denies this operation on ${qualifiedName}: ${message}`,
  },
  '40': serverBusy,
  '53100': diskFull,
  '53': serverBusy,
  '55P03': serverBusy,
  '55006': serverBusy,
  '57014': queryTimeout,
  '22': badValue,
  '54': badValue,
  '23502': {
    code: 'NULL_KEY',
    sentence: (qualifiedName) =>
      `A row of ${qualifiedName} has no value in a column of the key. Correct the source, or choose another key.`,
  },
}

/** Problems by Redshift's message, for errors with an unspecific code. */
const templatesByMessage: readonly (readonly [RegExp, RedshiftProblemTemplate])[] = [
  [/Serializable isolation violation|could not complete because of conflict/, serverBusy],
  [/disk full/i, diskFull],
  [/cancell?ed on user's request|due to statement timeout|query_timeout/, queryTimeout],
]

/** Messages of node-postgres for connections that failed or were lost. These errors have no code. */
const lostConnectionMessage =
  /^timeout exceeded when trying to connect|^timeout expired$|^Connection terminated|^Client has encountered a connection error|is not queryable$/

const networkErrorCodes = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN)/

/** Returns the problem for an error of the server or of the connection, or undefined for any other error. */
function findProblemTemplate(error: Error): RedshiftProblemTemplate | undefined {
  const code = (error as { code?: string }).code ?? ''
  if (error instanceof DatabaseError)
    return findTemplateByMessage(error.message) ?? findTemplateBySqlstate(code) ?? refused
  const isConnectionError =
    isUnavailable(error) || lostConnectionMessage.test(error.message) || networkErrorCodes.test(code)
  return isConnectionError ? serverUnavailable : undefined
}

const findTemplateByMessage = (message: string): RedshiftProblemTemplate | undefined =>
  templatesByMessage.find(([pattern]) => pattern.test(message))?.[1]

const findTemplateBySqlstate = (code: string): RedshiftProblemTemplate | undefined =>
  templatesBySqlstate[code] ?? templatesBySqlstate[code.slice(0, 3)] ?? templatesBySqlstate[code.slice(0, 2)]

/** See `SqlDialect.explain`. */
export function explainRedshiftError(error: unknown): ServerProblem | undefined {
  if (!types.isNativeError(error)) return undefined
  const template = findProblemTemplate(error)
  if (!template) return undefined
  const { code, sentence, retryable = false } = template
  return { code, sentence: (qualifiedName) => sentence(qualifiedName, error.message), retryable }
}

/** The error's position in the user's text, counted from 1. The SQL before the user's text is not counted. */
export interface ErrorPosition {
  line?: number
  column?: number
}

/** SQLSTATEs of errors that reject what the query does, not its syntax. */
const forbiddenStates = new Set(['42501', '25006', '25001', '0A000', '42P11', '0LP01'])
/** SQLSTATE classes of errors in the query itself, for which the server's message helps the user. */
const queryFaultStates = /^(22|42|54|0A|21|23|25|26|34|3F|2B|38|39|P0|XX)/
/** SQLSTATE protocol_violation, which the server returns for a parameter without a value. */
const missingParameterValue = '08P01'

/** See `SqlDialect.explainQuery`. Returns undefined for an error that the query did not cause. */
export function explainQuery(error: unknown): QueryProblem | undefined {
  if (!(error instanceof DatabaseError)) return undefined
  const { code = '', message, hint } = error
  const problemCode = findProblemTemplate(error)?.code
  const sentence = hint ? `${asSentence(message)} ${hint}` : message
  if (problemCode === 'QUERY_TIMEOUT') return { code: 'QUERY_TIMEOUT', message: sentence }
  // The query conflicts with a session that has locked the table.
  if (problemCode === 'WAREHOUSE_BUSY')
    return { code: 'TABLE_BUSY', message: 'A load is changing a table of this query. Try again in a moment.' }
  if (forbiddenStates.has(code)) return { code: 'SQL_NOT_ALLOWED', message: sentence }
  if (code === missingParameterValue)
    return {
      code: 'QUERY_FAILED',
      message: 'The query uses a parameter such as $1. Write ${name} for a variable instead.',
    }
  if (!queryFaultStates.test(code)) return undefined
  const { line, column } = error as ErrorPosition
  return {
    code: 'QUERY_FAILED',
    message: sentence,
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  }
}
