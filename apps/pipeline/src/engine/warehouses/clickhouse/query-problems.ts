import { type UserQuery, WarehouseProblem } from '../warehouse.ts'
import { withoutValues } from '../without-values.ts'
import { ClickHouseError } from './http.ts'
import { codes, warehouseProblem } from './problems.ts'
import { asSentence } from '../../../as-sentence.ts'
import { missingTableAdvice } from '../missing-table.ts'

/** Refused because of what the query wants, not because of how it is written. */
const notAllowed = new Set([164, 344, 392, 452, 497])
/** The server is not there, has no room or no time: nothing that the query could do about it. */
const notItsFault = new Set([202, 209, 210, 236, 241, 242, 243, 252, 516, 192, 193, 194])

/** What went wrong with a query that users wrote: the server's sentence, which has the place in their text. */
export function queryProblem(error: unknown, { text, values = [] }: UserQuery, seconds: number): unknown {
  if (!(error instanceof ClickHouseError)) return warehouseProblem(error, 'the warehouse')
  if (error.code === codes.timeout || error.code === 160 || error.code === codes.cancelled) return tooSlow(seconds)
  const said = sentenceOf(error.message, values)
  const words = error.code === codes.unknownTable ? `${asSentence(said)} ${missingTableAdvice}` : said
  const cause = new Error(`${error.code}: ${words}`)
  if (error.code === codes.tooManyBytes)
    return new WarehouseProblem('RESULT_TOO_LARGE', 'What the query finds is larger than what is taken at once.', {
      cause,
    })
  if (error.code === 241)
    return new WarehouseProblem('RESULT_TOO_LARGE', 'The query needs more memory than is allowed. Narrow it down.', {
      cause,
    })
  if (error.code === 62 && !isSelect(text))
    return new WarehouseProblem(
      'SQL_NOT_ALLOWED',
      'Only one statement is allowed, which begins with SELECT, WITH or VALUES.',
      { cause },
    )
  if (notAllowed.has(error.code))
    return new WarehouseProblem('SQL_NOT_ALLOWED', `The query may not do this: ${words}`, { cause })
  if (error.code > 0 && !notItsFault.has(error.code))
    return new WarehouseProblem('QUERY_FAILED', `The query failed${lineIn(error.message)}: ${words}`, { cause })
  return warehouseProblem(error, 'the warehouse')
}

export function tooSlow(seconds: number): WarehouseProblem {
  const sentence = `The query took longer than ${seconds} ${seconds === 1 ? 'second' : 'seconds'} and was stopped.`
  return new WarehouseProblem('QUERY_TIMEOUT', sentence)
}

function isSelect(text: string): boolean {
  const bare = text.replace(/^(\s|--[^\n]*(\n|$)|\/\*[\s\S]*?\*\/)+/, '')
  return /^\(*\s*(select|with|values|from)\b/i.test(bare) && !/;\s*\S/.test(bare)
}

/** Our line stands before theirs. */
function lineIn(message: string): string {
  const [, line, column] = /\(line (\d+), col (\d+)\)/.exec(message) ?? []
  return line && Number(line) > 1 ? ` in line ${Number(line) - 1}, column ${column}` : ''
}

function sentenceOf(message: string, values: readonly (string | null)[]): string {
  const words = message
    .replace(/\(line \d+, col \d+\)/, '')
    .replace(/\s*In scope [\s\S]*$/, '')
    .replace(/ Expected one of: [\s\S]*$/, '')
  return withoutValues(words, values)
}
