import { types } from 'node:util'
import type { QueryProblem, ServerProblem } from '../sql-warehouse/sql-dialect.ts'
import { ledgerBusy } from './statements/tsql-statements.ts'

/** The fields of the driver's errors that are used here. `number` and `lineNumber` come from the server. */
interface DriverError extends Error {
  code?: string
  number?: number
  lineNumber?: number
}

const problemSentences = {
  unavailable: () => 'The warehouse server is unreachable. Try again in a moment.',
  busy: () => 'The warehouse server is overloaded. Try again in a moment.',
  denied: () => 'The warehouse server rejected the credentials of Sluice. An operator has to check its URL.',
  paused: () => 'The warehouse is paused. Resume it, then try again.',
  full: () => 'The disk of the warehouse is full. Delete unused tables or enlarge the disk, then run again.',
  inUse: (qualifiedName: string) =>
    `${qualifiedName} is locked by a long query of another session. Try again in a moment.`,
}

/** The problem for an error of the server. `message` is the server's message. */
type SqlServerProblemTemplate = Omit<ServerProblem, 'sentence'> & {
  sentence(qualifiedName: string, message: string): string
}

const unavailable: SqlServerProblemTemplate = {
  code: 'WAREHOUSE_UNAVAILABLE',
  sentence: problemSentences.unavailable,
  retryable: true,
}
const paused: SqlServerProblemTemplate = { ...unavailable, sentence: problemSentences.paused }
const busy: SqlServerProblemTemplate = { code: 'WAREHOUSE_BUSY', sentence: problemSentences.busy, retryable: true }
const inUse: SqlServerProblemTemplate = { code: 'WAREHOUSE_BUSY', sentence: problemSentences.inUse, retryable: true }
const accessDenied: SqlServerProblemTemplate = { code: 'WAREHOUSE_ACCESS_DENIED', sentence: problemSentences.denied }
const missingDatabase: SqlServerProblemTemplate = {
  code: 'WAREHOUSE_MISSING',
  sentence: () => 'The database of the warehouse does not exist. An operator has to check its URL.',
}
const diskFull: SqlServerProblemTemplate = { code: 'DISK_FULL', sentence: problemSentences.full }
const badValue: SqlServerProblemTemplate = {
  code: 'BAD_VALUE',
  sentence: (qualifiedName, message) => `The warehouse cannot store a value of ${qualifiedName}: ${message}`,
}
const forbidden: SqlServerProblemTemplate = {
  code: 'WAREHOUSE_FORBIDDEN',
  sentence: (qualifiedName, message) => `The warehouse denies this operation on ${qualifiedName}: ${message}`,
}
const timeout: SqlServerProblemTemplate = {
  code: 'QUERY_TIMEOUT',
  sentence: (qualifiedName) =>
    `The statement on ${qualifiedName} exceeded its time limit and was stopped. Simplify it or process fewer rows.`,
}

/** Numbers of the server's errors. */
export const errorNumbers = {
  invalidObjectName: 208,
  deadlock: 1205,
  lockTimeout: 1222,
  objectExists: 2714,
  nameTaken: 15_335,
  loginExists: 15_025,
  userExists: 15_023,
} as const

/** Problems by the number of the server's error. */
const templatesByNumber: Record<number, SqlServerProblemTemplate> = {
  208: { code: 'TABLE_MISSING', sentence: (qualifiedName) => `${qualifiedName} does not exist. Load it first.` },
  2760: {
    code: 'SCHEMA_MISSING',
    sentence: (qualifiedName) => `The schema of ${qualifiedName} does not exist. Create it first.`,
  },
  515: {
    code: 'NULL_KEY',
    sentence: (qualifiedName) =>
      `A row of ${qualifiedName} has no value in a column of the key. Correct the source, or choose another key.`,
  },
  911: missingDatabase,
  4060: missingDatabase,
  18_456: accessDenied,
  18_452: accessDenied,
  18_486: accessDenied,
  18_487: accessDenied,
  18_488: accessDenied,
  229: forbidden,
  230: forbidden,
  262: forbidden,
  297: forbidden,
  916: forbidden,
  1205: inUse,
  1222: inUse,
  [ledgerBusy]: inUse,
  701: busy,
  802: busy,
  8645: busy,
  10_928: busy,
  10_929: busy,
  17_809: busy,
  40_501: busy,
  49_918: busy,
  1101: diskFull,
  1105: diskFull,
  9002: diskFull,
  40_544: diskFull,
  220: badValue,
  232: badValue,
  241: badValue,
  242: badValue,
  245: badValue,
  2628: badValue,
  4815: badValue,
  8114: badValue,
  8115: badValue,
  8152: badValue,
  40_613: unavailable,
  40_197: unavailable,
  596: unavailable,
}

/** True if the server sent this error with one of these error numbers. */
export const hasErrorNumber = (error: unknown, ...numbers: readonly number[]): boolean =>
  numbers.includes((error as DriverError | undefined)?.number ?? 0)

/** See `SqlDialect.explain`. */
export function explainSqlServerError(error: unknown): ServerProblem | undefined {
  if (!types.isNativeError(error)) return undefined
  const template = findProblemTemplate(error)
  return template && { ...template, sentence: (qualifiedName) => template.sentence(qualifiedName, error.message) }
}

/** Codes of the driver and of Node for connections that failed or were lost. */
const connectionErrorCodes =
  /^(ESOCKET|ECLOSE|ECONNCLOSED|EINVALIDSTATE|ENOTOPEN|ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOTFOUND|EAI_AGAIN)$/
const noEncryption: SqlServerProblemTemplate = {
  code: 'WAREHOUSE_UNAVAILABLE',
  sentence: () =>
    'The warehouse server does not support encryption. Enable it there; set encrypt=false in the server’s URL only if the network is private.',
}
const otherProblemTemplate: SqlServerProblemTemplate = {
  code: 'WAREHOUSE_REFUSED',
  sentence: (_, serverText) => `The warehouse rejected the operation: ${serverText}`,
}

/** Returns the problem for an error of the driver or server, or undefined for any other error. */
function findProblemTemplate(error: DriverError): SqlServerProblemTemplate | undefined {
  const { code = '', number = 0, message } = error
  // Babelfish (PostgreSQL with T-SQL, used in tests) keeps some PostgreSQL messages and has its own error numbers.
  const isMissingRelation = /^relation .* does not exist$/.test(message)
  const template = templatesByNumber[isMissingRelation ? errorNumbers.invalidObjectName : number]
  if (template) return template
  if (code === 'ETIMEOUT') return isConnectTimeout(error) ? unavailable : timeout
  if (code === 'ELOGIN') return explainRejectedLogin(message)
  if (connectionErrorCodes.test(code)) return unavailable
  if (code === 'EENCRYPT') return noEncryption
  const isServerError = number > 0
  return isServerError ? otherProblemTemplate : undefined
}

/** True if a time-out of the driver concerns the connection, and not a statement. */
const isConnectTimeout = ({ message }: DriverError): boolean => /connect/i.test(message)

/** Returns the problem for a rejected login. The driver keeps the server's message, but not its number. */
function explainRejectedLogin(message: string): SqlServerProblemTemplate {
  if (/\bpaused\b/i.test(message)) return paused
  return /cannot open database/i.test(message) ? missingDatabase : accessDenied
}

/** Numbers of errors that reject what the query does, not its syntax. */
const forbiddenNumbers = new Set([229, 230, 262, 297, 300, 916, 2571, 15_247, 15_281])
/** Codes of problems that the query did not cause: the server is unreachable or lacks memory, disk or time. */
const serverFaultCodes = new Set([
  'WAREHOUSE_UNAVAILABLE',
  'WAREHOUSE_BUSY',
  'WAREHOUSE_ACCESS_DENIED',
  'WAREHOUSE_MISSING',
  'DISK_FULL',
])

/** See `SqlDialect.explainQuery`. Returns undefined for an error that the query did not cause. */
export function explainQuery(error: unknown, seconds: number): QueryProblem | undefined {
  if (!types.isNativeError(error)) return undefined
  const { code, number = 0, message, lineNumber } = error as DriverError
  if (number === errorNumbers.lockTimeout || number === errorNumbers.deadlock)
    return { code: 'TABLE_BUSY', message: 'A load is replacing a table of this query. Try again in a moment.' }
  if (code === 'ETIMEOUT' && !isConnectTimeout(error))
    return {
      code: 'QUERY_TIMEOUT',
      message: `The query took longer than ${seconds} seconds and was stopped. Select fewer rows or simplify the query.`,
    }
  const isServerError = number > 0
  if (!isServerError) return undefined
  const problemCode = findProblemTemplate(error)?.code
  if (problemCode !== undefined && serverFaultCodes.has(problemCode)) return undefined
  if (forbiddenNumbers.has(number)) return { code: 'SQL_NOT_ALLOWED', message }
  const position = lineNumber !== undefined && lineNumber > 0 ? { line: lineNumber } : {}
  const { column } = error as { column?: number }
  return { code: 'QUERY_FAILED', message, ...position, ...(column !== undefined && { column }) }
}
