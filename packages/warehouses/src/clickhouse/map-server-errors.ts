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
import { ClickHouseError } from './protocol/http-client.ts'
import { asSentence } from '@sluice/process'

type ProblemTemplate = [code: string, sentence: (subject: string, error: Error) => string, retryable?: 'retryable']

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
  (subject, { message }) => `The warehouse cannot store a value of ${subject}: ${message}`,
]
const queryTimeout: ProblemTemplate = [
  'QUERY_TIMEOUT',
  (subject) =>
    `The statement on ${subject} exceeded its time limit and was stopped. Simplify it or process fewer rows.`,
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
  [errorCodes.unknownTable]: ['TABLE_MISSING', (subject) => `${subject} does not exist. Load it first.`],
  [errorCodes.unknownDatabase]: [
    'SCHEMA_MISSING',
    (subject) => `The schema of ${subject} does not exist. Create it first.`,
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
    (subject, { message }) => `The warehouse denies this operation on ${subject}: ${message}`,
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
    (subject) => `A row of ${subject} has no value in a column of the key. Correct the source, or choose another key.`,
  ],
  [errorCodes.decimalOverflow]: badValue,
}

/**
 * Converts an error of the server, or of the connection to it, to a `WarehouseProblem`. Returns other errors unchanged.
 * `subject` is what the message names: a quoted table name, or a phrase such as `the warehouse`.
 */
export function warehouseProblem(error: unknown, subject: string): unknown {
  const isAlreadyDescribed = error instanceof WarehouseProblem || error instanceof LeaseLost
  if (isAlreadyDescribed || !types.isNativeError(error)) return error
  const template = findTemplate(error)
  if (!template) return error
  const [code, sentence, retryable] = template
  return new WarehouseProblem(code, sentence(subject, error), {
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
 * Turns an error of a user's query into a problem. If the query itself is wrong, the problem contains the server's
 * message and the position in the user's query text. `seconds` is the query's time limit, for the message.
 */
export function queryProblem(error: unknown, query: UserQuery, seconds: number): unknown {
  if (!(error instanceof ClickHouseError)) return warehouseProblem(error, 'the warehouse')
  if (stoppedCodes.has(error.code)) return tooSlow(seconds)
  const sentence = cleanMessage(error.message, query.values ?? [])
  const message = error.code === errorCodes.unknownTable ? `${asSentence(sentence)} ${missingTableAdvice}` : sentence
  const cause = new Error(`${error.code}: ${message}`)
  const problem = (code: string, text: string) => new WarehouseProblem(code, text, { cause })
  if (error.code === errorCodes.tooManyBytes)
    return problem('RESULT_TOO_LARGE', 'The result of the query exceeds the size limit. Select fewer rows or columns.')
  if (error.code === errorCodes.memoryLimitExceeded)
    return problem('RESULT_TOO_LARGE', 'The query exceeds the memory limit. Select fewer rows or columns.')
  if (error.code === errorCodes.syntaxError && !isSelect(query.text))
    return problem('SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT, WITH or VALUES.')
  if (forbiddenCodes.has(error.code))
    return problem('SQL_NOT_ALLOWED', `The query contains an operation that is not allowed: ${message}`)
  // The code is 0 if the response contained no error code of the server.
  const isFaultOfServer = error.code === 0 || serverFaultCodes.has(error.code)
  if (isFaultOfServer) return warehouseProblem(error, 'the warehouse')
  const position = describePosition(findQueryPosition(error.message), query)
  return problem('QUERY_FAILED', `The query failed${position}: ${message}`)
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
 * The server counts one more line, because the query is sent as a subquery that begins on the second line. Returns
 * undefined without a position, and for a position before the query.
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
