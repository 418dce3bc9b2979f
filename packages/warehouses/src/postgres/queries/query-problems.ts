import { DatabaseError } from 'pg'
import {
  describePosition,
  missingTableAdvice,
  type TextPosition,
  type UserQuery,
  WarehouseProblem,
} from '../../warehouse.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { asSentence } from '@sluice/process'
import { sqlStates } from '../server/sql-states.ts'

/** The statement that failed. */
export interface QueryContext {
  /** The user's query. */
  query: UserQuery
  /** The number of characters of the SQL before the user's text. */
  prefixLength: number
  /** The time limit of the query. */
  seconds: number
}

/** SQLSTATEs of queries with a valid syntax that do something forbidden. */
const forbiddenStates = new Set(['42501', '25006', '25001', '0A000', '42P11', '0LP01', '28000'])

const timeoutStates: ReadonlySet<string> = new Set([sqlStates.queryCanceled, sqlStates.transactionTimeout])
const contentionStates: ReadonlySet<string> = new Set([
  sqlStates.lockNotAvailable,
  sqlStates.deadlockDetected,
  sqlStates.serializationFailure,
])

/** SQLSTATE classes of errors in the query itself, for which the server's message helps the user. */
const queryFaultClasses = new Set([
  '22',
  '42',
  '54',
  '0A',
  '21',
  '23',
  '25',
  '26',
  '34',
  '3F',
  '2B',
  '38',
  '39',
  'P0',
  'XX',
])

/**
 * Turns an error of a user's query into a problem. If the query itself is wrong, the problem contains the server's
 * message and the position in the user's text. It contains none of the SQL that Sluice adds.
 */
export function queryProblem(error: unknown, context: QueryContext): unknown {
  if (!(error instanceof DatabaseError)) return warehouseProblem(error, { qualifiedName: 'the warehouse' })
  const code = error.code ?? ''
  const message = redactMessage(error, context.query)
  const problem = (name: string, sentence: string, retryable = false) =>
    new WarehouseProblem(name, sentence, { cause: new Error(`${code}: ${message}`), retryable })

  // The time limit or the load on the server stopped the query.
  if (timeoutStates.has(code)) return queryTooSlow(context.seconds)
  if (contentionStates.has(code))
    return problem('TABLE_BUSY', 'A load is changing a table of this query. Try again in a moment.', true)
  if (code === sqlStates.configurationLimitExceeded)
    return problem(
      'RESULT_TOO_LARGE',
      'The query exceeds the limit for temporary disk space. Select fewer rows or columns.',
    )
  if (code === sqlStates.syntaxError && !isSingleQuery(context.query.text))
    return problem('SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT, WITH, VALUES or TABLE.')
  // Errors in the query itself.
  const position = describePosition(positionInUserText(error, context), context.query)
  if (forbiddenStates.has(code))
    return problem('SQL_NOT_ALLOWED', `The query contains an operation that is not allowed${position}: ${message}`)
  // The number of parameters differs from the number of values.
  if (code === sqlStates.protocolViolation)
    return problem('QUERY_FAILED', 'The query uses a parameter such as $1. Write ${name} for a variable instead.')
  const sqlStateClass = code.slice(0, 2)
  if (!queryFaultClasses.has(sqlStateClass)) return warehouseProblem(error, { qualifiedName: 'the warehouse' })
  const advice = isMissingTable(error) ? ` ${missingTableAdvice}` : ''
  return problem('QUERY_FAILED', `The query failed${position}: ${message}${advice}`)
}

export function queryTooSlow(seconds: number): WarehouseProblem {
  const sentence = `The query took longer than ${seconds} ${seconds === 1 ? 'second' : 'seconds'} and was stopped. Select fewer rows or simplify the query.`
  return new WarehouseProblem('QUERY_TIMEOUT', sentence)
}

/**
 * False if the text is not a query, or seems to contain several statements. For both, the server only reports a syntax
 * error, which does not help the user.
 */
function isSingleQuery(text: string): boolean {
  const withoutLeadingComments = text.replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, '')
  const beginsAsQuery = /^\(*\s*(select|with|values|table)\b/i.test(withoutLeadingComments)
  const hasTextAfterSemicolon = /;\s*\S/.test(withoutLeadingComments)
  return beginsAsQuery && !hasTextAfterSemicolon
}

/** True if a table is missing. An unknown table alias has the same SQLSTATE, so the message is compared too. */
const isMissingTable = ({ code, message }: DatabaseError): boolean =>
  code === sqlStates.undefinedTable && message.startsWith('relation ')

/**
 * Converts the position in the server's error to line and column in the user's text, both counted from 1. Returns
 * undefined if the error has no position or it is in the SQL before the user's text. The server counts characters, and
 * JavaScript counts UTF-16 code units.
 */
function positionInUserText(
  { position }: DatabaseError,
  { query, prefixLength }: QueryContext,
): TextPosition | undefined {
  const charactersBefore = Number(position) - 1 - prefixLength
  if (!position || charactersBefore < 0) return undefined
  const lines = [...query.text].slice(0, charactersBefore).join('').split('\n')
  return { line: lines.length, column: [...lines.at(-1)!].length + 1 }
}

/**
 * Returns the server's message and hint without the values of variables. The server quotes text that it could not
 * parse, and that text can be a secret variable.
 */
function redactMessage({ message, hint }: DatabaseError, { values = [] }: UserQuery): string {
  let sentences = `${asSentence(message)}${hint ? ` ${asSentence(hint)}` : ''}`
  // Longer values come first, because they may contain shorter ones.
  const longestFirst = values
    .filter((value): value is string => Boolean(value))
    .toSorted((one, other) => other.length - one.length)
  for (const value of longestFirst) {
    sentences = sentences.replaceAll(`"${value}"`, 'the value of a variable')
    // Shorter values would also match within other words.
    if (value.length > 3) sentences = sentences.replace(new RegExp(RegExp.escape(value), 'giu'), '…')
  }
  return sentences
}
