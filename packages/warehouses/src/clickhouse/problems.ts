import { types } from 'node:util'
import { isUnavailable } from '@sluice/database'
import {
  describePosition,
  LeaseLost,
  missingTableAdvice,
  redactVariableValues,
  type TextPosition,
  type UserQuery,
  WarehouseProblem,
} from '../warehouse.ts'
import { ClickHouseError } from './protocol/http.ts'
import { asSentence } from '@sluice/process'

type ProblemTemplate = [
  code: string,
  sentence: (qualifiedName: string, error: Error) => string,
  retryable?: 'retryable',
]

const serverUnavailable: ProblemTemplate = [
  'WAREHOUSE_UNAVAILABLE',
  () => 'The warehouse server is unreachable. Try again in a moment.',
  'retryable',
]
const serverBusy: ProblemTemplate = [
  'WAREHOUSE_BUSY',
  () => 'The warehouse server is overloaded. Try again in a moment.',
  'retryable',
]
const accessDenied: ProblemTemplate = [
  'WAREHOUSE_ACCESS_DENIED',
  () => 'The ClickHouse server rejected the credentials of Sluice. An operator has to check CLICKHOUSE_URL.',
]
const badValue: ProblemTemplate = [
  'BAD_VALUE',
  (qualifiedName, { message }) => `The warehouse cannot store a value of ${qualifiedName}: ${message}`,
]
const queryTimeout: ProblemTemplate = [
  'QUERY_TIMEOUT',
  (qualifiedName) =>
    `The statement on ${qualifiedName} exceeded its time limit and was stopped. Simplify it or process fewer rows.`,
]

/** Error codes of the ClickHouse server, see `ClickHouseError`. */
export const errorCodes = {
  cannotReadAllData: 33,
  typeMismatch: 53,
  tableExists: 57,
  unknownTable: 60,
  syntaxError: 62,
  argumentOutOfBound: 69,
  unknownDatabase: 81,
  databaseExists: 82,
  incorrectData: 117,
  timeout: 159,
  tooSlow: 160,
  readonly: 164,
  unknownUser: 192,
  wrongPassword: 193,
  passwordRequired: 194,
  tooManyQueries: 202,
  socketTimeout: 209,
  networkError: 210,
  aborted: 236,
  memoryLimitExceeded: 241,
  tableIsReadOnly: 242,
  notEnoughSpace: 243,
  tooManyParts: 252,
  valueOutOfRange: 321,
  supportIsDisabled: 344,
  nullInOrdinaryColumn: 349,
  queryIsProhibited: 392,
  cancelled: 394,
  tooManyBytes: 396,
  decimalOverflow: 407,
  cannotScheduleTask: 439,
  settingConstraintViolation: 452,
  accessDenied: 497,
  authenticationFailed: 516,
  keeperError: 999,
} as const

const problemTemplates: Record<number, ProblemTemplate> = {
  [errorCodes.unknownTable]: ['TABLE_MISSING', (qualifiedName) => `${qualifiedName} does not exist. Load it first.`],
  [errorCodes.unknownDatabase]: [
    'SCHEMA_MISSING',
    (qualifiedName) => `The schema of ${qualifiedName} does not exist. Create it first.`,
  ],
  [errorCodes.timeout]: queryTimeout,
  [errorCodes.cancelled]: queryTimeout,
  [errorCodes.tooSlow]: queryTimeout,
  [errorCodes.authenticationFailed]: accessDenied,
  [errorCodes.unknownUser]: accessDenied,
  [errorCodes.wrongPassword]: accessDenied,
  [errorCodes.passwordRequired]: accessDenied,
  [errorCodes.accessDenied]: [
    'WAREHOUSE_FORBIDDEN',
    (qualifiedName, { message }) => `The warehouse denies this operation on ${qualifiedName}: ${message}`,
  ],
  [errorCodes.tooManyQueries]: serverBusy,
  [errorCodes.memoryLimitExceeded]: serverBusy,
  [errorCodes.tooManyParts]: serverBusy,
  [errorCodes.cannotScheduleTask]: serverBusy,
  [errorCodes.socketTimeout]: serverUnavailable,
  [errorCodes.networkError]: serverUnavailable,
  [errorCodes.aborted]: serverUnavailable,
  [errorCodes.tableIsReadOnly]: serverUnavailable,
  [errorCodes.keeperError]: serverUnavailable,
  [errorCodes.notEnoughSpace]: [
    'DISK_FULL',
    () => 'The disk of the warehouse is full. Delete unused tables or enlarge the disk, then run again.',
  ],
  [errorCodes.cannotReadAllData]: badValue,
  [errorCodes.typeMismatch]: badValue,
  [errorCodes.argumentOutOfBound]: badValue,
  [errorCodes.incorrectData]: badValue,
  [errorCodes.valueOutOfRange]: badValue,
  [errorCodes.nullInOrdinaryColumn]: [
    'NULL_KEY',
    (qualifiedName) =>
      `A row of ${qualifiedName} has no value in a column of the key. Correct the source, or choose another key.`,
  ],
  [errorCodes.decimalOverflow]: badValue,
}

/** Converts an error of the server, or of the connection to it, to a `WarehouseProblem`. Returns others unchanged. */
export function warehouseProblem(error: unknown, qualifiedName: string): unknown {
  if (error instanceof WarehouseProblem || error instanceof LeaseLost || !types.isNativeError(error)) return error
  const template = findTemplate(error)
  if (!template) return error
  const [code, sentence, retryable] = template
  return new WarehouseProblem(code, sentence(qualifiedName, error), {
    cause: error,
    retryable: retryable === 'retryable',
  })
}

const operationRejected: ProblemTemplate = [
  'WAREHOUSE_REFUSED',
  (_, { message }) => `The warehouse rejected the operation: ${message}`,
]

const connectionErrorMessages = /^timeout expired$|^Timeout error\.$|^socket hang up$|^aborted$/
const connectionErrorCodes = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ERR_STREAM_PREMATURE_CLOSE)/

/** Returns the template for an error of the server or of the connection. Returns undefined for any other error. */
function findTemplate(error: Error): ProblemTemplate | undefined {
  if (error instanceof ClickHouseError) return problemTemplates[error.code] ?? operationRejected
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const isConnectionError =
    isUnavailable(error) || connectionErrorMessages.test(error.message) || connectionErrorCodes.test(code)
  return isConnectionError ? serverUnavailable : undefined
}

export const isCode = (error: unknown, code: number): boolean => error instanceof ClickHouseError && error.code === code

/** Codes of errors that reject what the query does, not its syntax. */
const forbiddenCodes: ReadonlySet<number> = new Set([
  errorCodes.readonly,
  errorCodes.supportIsDisabled,
  errorCodes.queryIsProhibited,
  errorCodes.settingConstraintViolation,
  errorCodes.accessDenied,
])
/** Codes of errors that the query did not cause: the server is unreachable or lacks memory, disk or time. */
const serverFaultCodes: ReadonlySet<number> = new Set([
  errorCodes.tooManyQueries,
  errorCodes.socketTimeout,
  errorCodes.networkError,
  errorCodes.aborted,
  errorCodes.memoryLimitExceeded,
  errorCodes.tableIsReadOnly,
  errorCodes.notEnoughSpace,
  errorCodes.tooManyParts,
  errorCodes.authenticationFailed,
  errorCodes.unknownUser,
  errorCodes.wrongPassword,
  errorCodes.passwordRequired,
])
/** Codes of stopped queries: the server reached the time limit, estimated that it would, or cancelled the query. */
const stoppedCodes: ReadonlySet<number> = new Set([errorCodes.timeout, errorCodes.tooSlow, errorCodes.cancelled])

/**
 * Turns an error of a user's query into a problem. The problem contains the server's message and the position in the
 * user's query text.
 */
export function queryProblem(error: unknown, query: UserQuery, seconds: number): unknown {
  const { text, values = [] } = query
  if (!(error instanceof ClickHouseError)) return warehouseProblem(error, 'the warehouse')
  if (stoppedCodes.has(error.code)) return tooSlow(seconds)
  const sentence = cleanMessage(error.message, values)
  const message = error.code === errorCodes.unknownTable ? `${asSentence(sentence)} ${missingTableAdvice}` : sentence
  const cause = new Error(`${error.code}: ${message}`)
  if (error.code === errorCodes.tooManyBytes)
    return new WarehouseProblem(
      'RESULT_TOO_LARGE',
      'The result of the query exceeds the size limit. Select fewer rows or columns.',
      {
        cause,
      },
    )
  if (error.code === errorCodes.memoryLimitExceeded)
    return new WarehouseProblem(
      'RESULT_TOO_LARGE',
      'The query exceeds the memory limit. Select fewer rows or columns.',
      {
        cause,
      },
    )
  if (error.code === errorCodes.syntaxError && !isSelect(text))
    return new WarehouseProblem('SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT, WITH or VALUES.', {
      cause,
    })
  if (forbiddenCodes.has(error.code))
    return new WarehouseProblem('SQL_NOT_ALLOWED', `The query contains an operation that is not allowed: ${message}`, {
      cause,
    })
  const isFaultOfQuery = error.code > 0 && !serverFaultCodes.has(error.code)
  if (isFaultOfQuery)
    return new WarehouseProblem(
      'QUERY_FAILED',
      `The query failed${describePosition(findQueryPosition(error.message), query)}: ${message}`,
      { cause },
    )
  return warehouseProblem(error, 'the warehouse')
}

export function tooSlow(seconds: number): WarehouseProblem {
  const sentence = `The query took longer than ${seconds} ${seconds === 1 ? 'second' : 'seconds'} and was stopped. Select fewer rows or simplify the query.`
  return new WarehouseProblem('QUERY_TIMEOUT', sentence)
}

/** True if the text, after comments and brackets, starts with a keyword of a query and nothing follows a semicolon. */
function isSelect(text: string): boolean {
  const withoutLeadingComments = text.replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, '')
  const isQuery = /^\(*\s*(select|with|values|from)\b/i.test(withoutLeadingComments)
  return isQuery && !/;\s*\S/.test(withoutLeadingComments)
}

/**
 * Finds a position such as `(line 3, col 7)` in a message of the server, and returns the position in the user's query.
 * The server counts one more line, because `queryPrefix` precedes the query. Returns undefined without a position, and
 * for a position before the query.
 */
function findQueryPosition(message: string): TextPosition | undefined {
  const [, sentLine, column] = /\(line (\d+), col (\d+)\)/.exec(message) ?? []
  const line = Number(sentLine ?? 0) - 1
  return line >= 1 ? { line, column: Number(column) } : undefined
}

/**
 * Removes from the server's message the position, the scope, the list of expected tokens and the user's parameter
 * values.
 */
function cleanMessage(message: string, values: readonly (string | null)[]): string {
  const sentence = message
    .replace(/\(line \d+, col \d+\)/, '')
    .replace(/\s*In scope [\s\S]*$/, '')
    .replace(/ Expected one of: [\s\S]*$/, '')
  return redactVariableValues(sentence, values)
}
