import { DatabaseError } from 'pg'
import {
  describePosition,
  missingTableAdvice,
  type TextPosition,
  type UserQuery,
  WarehouseProblem,
} from '../../warehouse.ts'
import { warehouseProblem } from '../problems.ts'
import { asSentence } from '@sluice/process'

/** The user's query, its time limit, and the length in characters of the SQL before it. */
export interface QueryContext {
  query: UserQuery
  prefix: number
  seconds: number
}

/** SQLSTATEs of queries with a valid syntax that do something forbidden. */
const forbiddenStates = new Set(['42501', '25006', '25001', '0A000', '42P11', '0LP01', '28000'])

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
 * Turns an error of a user's query into a problem with the server's message and the position in the user's text. The
 * problem shows none of the SQL that Sluice adds.
 */
export function queryProblem(error: unknown, context: QueryContext): unknown {
  if (!(error instanceof DatabaseError)) return warehouseProblem(error, { qualifiedName: 'the warehouse' })
  const code = error.code ?? ''
  const message = redactedMessage(error, context.query)
  const problem = (name: string, sentence: string, retryable = false) =>
    new WarehouseProblem(name, sentence, { cause: new Error(`${code}: ${message}`), retryable })

  if (code === '57014' || code === '25P04') return tooSlow(context.seconds)
  if (['55P03', '40P01', '40001'].includes(code))
    return problem('TABLE_BUSY', 'A load is changing a table of this query. Try again in a moment.', true)
  if (code === '53400')
    return problem(
      'RESULT_TOO_LARGE',
      'The query exceeds the limit for temporary disk space. Select fewer rows or columns.',
    )
  if (isNotASelect(code, context.query.text))
    return problem('SQL_NOT_ALLOWED', 'Enter a single query that begins with SELECT, WITH, VALUES or TABLE.')
  if (forbiddenStates.has(code))
    return problem(
      'SQL_NOT_ALLOWED',
      `The query contains an operation that is not allowed${describePosition(positionOf(error, context), context.query)}: ${message}`,
    )
  if (code === '08P01')
    return problem('QUERY_FAILED', 'The query uses a parameter such as $1. Write ${name} for a variable instead.')
  if (queryFaultClasses.has(code.slice(0, 2)))
    return problem(
      'QUERY_FAILED',
      `The query failed${describePosition(positionOf(error, context), context.query)}: ${message}${isMissingTable(error) ? ` ${missingTableAdvice}` : ''}`,
    )
  return warehouseProblem(error, { qualifiedName: 'the warehouse' })
}

export function tooSlow(seconds: number): WarehouseProblem {
  const sentence = `The query took longer than ${seconds} ${seconds === 1 ? 'second' : 'seconds'} and was stopped. Select fewer rows or simplify the query.`
  return new WarehouseProblem('QUERY_TIMEOUT', sentence)
}

/**
 * True if the text contains several statements, or is not a query. For both, the server reports only a syntax error at
 * the start of the text.
 */
function isNotASelect(code: string, text: string): boolean {
  if (code !== '42601') return false
  const bare = text.replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, '')
  return !/^\(*\s*(select|with|values|table)\b/i.test(bare) || /;\s*\S/.test(bare)
}

/** True if a table is missing. An unknown table alias has the same SQLSTATE, so the message is compared too. */
const isMissingTable = ({ code, message }: DatabaseError): boolean =>
  code === '42P01' && message.startsWith('relation ')

/**
 * Converts the server's position to line and column in the user's text. The server counts characters, JavaScript UTF-16
 * code units.
 */
function positionOf({ position }: DatabaseError, { query, prefix }: QueryContext): TextPosition | undefined {
  const before = Number(position) - 1 - prefix
  if (!position || before < 0) return undefined
  const lines = [...query.text].slice(0, before).join('').split('\n')
  return { line: lines.length, column: [...lines.at(-1)!].length + 1 }
}

/**
 * Returns the server's message and hint without the values of variables. The server quotes text that it could not
 * parse, and that text can be a secret variable.
 */
function redactedMessage({ message, hint }: DatabaseError, { values = [] }: UserQuery): string {
  let sentences = `${asSentence(message)}${hint ? ` ${asSentence(hint)}` : ''}`
  for (const value of [...values].sort((a, b) => (b?.length ?? 0) - (a?.length ?? 0))) {
    if (!value) continue
    sentences = sentences.replaceAll(`"${value}"`, 'the value of a variable')
    if (value.length > 3) sentences = sentences.replace(new RegExp(RegExp.escape(value), 'giu'), '…')
  }
  return sentences
}
