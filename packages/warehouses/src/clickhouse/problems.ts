import { types } from 'node:util'
import { isUnavailable } from '@sluice/database'
import {
  describePosition,
  LeaseLost,
  missingTableAdvice,
  redactValues,
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

export const errorCodes = {
  unknownTable: 60,
  tableExists: 57,
  databaseExists: 82,
  unknownDatabase: 81,
  timeout: 159,
  cancelled: 394,
  tooManyBytes: 396,
} as const

const problemTemplates: Record<number, ProblemTemplate> = {
  [errorCodes.unknownTable]: ['TABLE_MISSING', (qualifiedName) => `${qualifiedName} does not exist. Load it first.`],
  [errorCodes.unknownDatabase]: [
    'SCHEMA_MISSING',
    (qualifiedName) => `The schema of ${qualifiedName} does not exist. Create it first.`,
  ],
  [errorCodes.timeout]: queryTimeout,
  [errorCodes.cancelled]: queryTimeout,
  160: queryTimeout,
  516: accessDenied,
  192: accessDenied,
  193: accessDenied,
  194: accessDenied,
  497: [
    'WAREHOUSE_FORBIDDEN',
    (qualifiedName, { message }) => `The warehouse denies this operation on ${qualifiedName}: ${message}`,
  ],
  202: serverBusy,
  241: serverBusy,
  252: serverBusy,
  439: serverBusy,
  209: serverUnavailable,
  210: serverUnavailable,
  236: serverUnavailable,
  242: serverUnavailable,
  999: serverUnavailable,
  243: [
    'DISK_FULL',
    () => 'The disk of the warehouse is full. Delete unused tables or enlarge the disk, then run again.',
  ],
  33: badValue,
  53: badValue,
  69: badValue,
  117: badValue,
  321: badValue,
  349: [
    'NULL_KEY',
    (qualifiedName) =>
      `A row of ${qualifiedName} has no value in a primary key column. Correct the source or choose another primary key.`,
  ],
  407: badValue,
}

/** Maps an error of the server to a `WarehouseProblem`. Returns every other error unchanged. */
export function warehouseProblem(error: unknown, qualifiedName: string): unknown {
  if (error instanceof WarehouseProblem || error instanceof LeaseLost || !types.isNativeError(error)) return error
  const verdict = findTemplate(error)
  if (!verdict) return error
  const [code, sentence, retryable] = verdict
  return new WarehouseProblem(code, sentence(qualifiedName, error), {
    cause: error,
    retryable: retryable === 'retryable',
  })
}

function findTemplate(error: Error): ProblemTemplate | undefined {
  if (error instanceof ClickHouseError)
    return (
      problemTemplates[error.code] ?? [
        'WAREHOUSE_REFUSED',
        (_, { message }) => `The warehouse rejected the operation: ${message}`,
      ]
    )
  if (isUnavailable(error) || /^timeout expired$|^Timeout error\.$|^socket hang up$|^aborted$/.test(error.message))
    return serverUnavailable
  const code = (error as NodeJS.ErrnoException).code ?? ''
  return /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_AGAIN|ERR_STREAM_PREMATURE_CLOSE)/.test(code)
    ? serverUnavailable
    : undefined
}

export const isCode = (error: unknown, code: number): boolean => error instanceof ClickHouseError && error.code === code

/** The server rejected the operation of the query, not its syntax. */
const forbiddenCodes = new Set([164, 344, 392, 452, 497])
/** The server is unreachable or lacks memory, disk or time: errors that the query does not cause. */
const notItsFault = new Set([202, 209, 210, 236, 241, 242, 243, 252, 516, 192, 193, 194])

/** Turns an error of a user's query into a problem with the server's message and the position in the user's text. */
export function queryProblem(error: unknown, query: UserQuery, seconds: number): unknown {
  const { text, values = [] } = query
  if (!(error instanceof ClickHouseError)) return warehouseProblem(error, 'the warehouse')
  if (error.code === errorCodes.timeout || error.code === 160 || error.code === errorCodes.cancelled)
    return tooSlow(seconds)
  const sentence = sentenceOf(error.message, values)
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
  if (error.code === 241)
    return new WarehouseProblem(
      'RESULT_TOO_LARGE',
      'The query exceeds the memory limit. Select fewer rows or columns.',
      {
        cause,
      },
    )
  if (error.code === 62 && !isSelect(text))
    return new WarehouseProblem('SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT, WITH or VALUES.', {
      cause,
    })
  if (forbiddenCodes.has(error.code))
    return new WarehouseProblem('SQL_NOT_ALLOWED', `The query contains an operation that is not allowed: ${message}`, {
      cause,
    })
  if (error.code > 0 && !notItsFault.has(error.code))
    return new WarehouseProblem(
      'QUERY_FAILED',
      `The query failed${describePosition(positionIn(error.message), query)}: ${message}`,
      { cause },
    )
  return warehouseProblem(error, 'the warehouse')
}

export function tooSlow(seconds: number): WarehouseProblem {
  const sentence = `The query took longer than ${seconds} ${seconds === 1 ? 'second' : 'seconds'} and was stopped. Select fewer rows or simplify the query.`
  return new WarehouseProblem('QUERY_TIMEOUT', sentence)
}

function isSelect(text: string): boolean {
  const bare = text.replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, '')
  return /^\(*\s*(select|with|values|from)\b/i.test(bare) && !/;\s*\S/.test(bare)
}

/** Returns the position in the text of the query; the service's line precedes it. */
function positionIn(message: string): TextPosition | undefined {
  const [, line, column] = /\(line (\d+), col (\d+)\)/.exec(message) ?? []
  return line && Number(line) > 1 ? { line: Number(line) - 1, column: Number(column) } : undefined
}

function sentenceOf(message: string, values: readonly (string | null)[]): string {
  const sentence = message
    .replace(/\(line \d+, col \d+\)/, '')
    .replace(/\s*In scope [\s\S]*$/, '')
    .replace(/ Expected one of: [\s\S]*$/, '')
  return redactValues(sentence, values)
}
