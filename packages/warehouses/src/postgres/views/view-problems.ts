import { WarehouseProblem } from '../../warehouse.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { asSentence } from '@sluice/process'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'

const viewProblem = (code: string, sentence: string, cause?: unknown) => new WarehouseProblem(code, sentence, { cause })

const formatMegabytes = (bytes: number) => Math.ceil(bytes / 1024 ** 2).toLocaleString('en')

/** The problems with which a view is rejected. `qualifiedName` is `"schema"."name"`. */
export const viewProblems = {
  taken: (qualifiedName: string) =>
    viewProblem(
      'VIEW_NAME_TAKEN',
      `${qualifiedName} already exists in the warehouse and is another view or table. Choose another name for the view.`,
    ),
  readsItself: (qualifiedName: string) =>
    viewProblem(
      'VIEW_READS_ITSELF',
      `${qualifiedName} would read itself, directly or through other views. Remove the reference to it.`,
    ),
  readsHidden: (hidden: string) =>
    viewProblem(
      'SQL_NOT_ALLOWED',
      `The query reads ${hidden}, which is an internal table that loads create and drop. Read the published table instead.`,
    ),
  readByOthers: (qualifiedName: string, names: readonly string[]) =>
    viewProblem(
      'VIEWS_DEPEND',
      `${qualifiedName} cannot change its columns, because views of another user read it (${names.join(', ')}). Drop those first. The old view stays.`,
    ),
  rebuildFailed: (error: unknown, qualifiedName: string, names: readonly string[]) => {
    const problem = warehouseProblem(error, { qualifiedName })
    if (problem instanceof WarehouseProblem && (problem.retryable || problem.code === 'QUERY_TIMEOUT')) return problem
    return viewProblem(
      'VIEWS_DEPEND',
      `The views over ${qualifiedName} (${names.join(', ')}) cannot be recreated over its new query: ${asSentence((error as Error).message)} Change or delete them first. The old view stays.`,
      error,
    )
  },
  tooLong: (qualifiedName: string, seconds: number) =>
    viewProblem(
      'QUERY_TIMEOUT',
      `The query of ${qualifiedName} took longer than ${seconds} seconds and was stopped. Select fewer rows or simplify the query.`,
    ),
  tooLarge: (qualifiedName: string, bytes: number, maxBytes: number) =>
    viewProblem(
      'RESULT_TOO_LARGE',
      `${qualifiedName} would take ${formatMegabytes(bytes)} MB, and a materialised view may take ${formatMegabytes(maxBytes)}. Select fewer rows or columns. Its old rows stay.`,
    ),
  missing: (qualifiedName: string) =>
    viewProblem(
      'VIEW_MISSING',
      `${qualifiedName} does not exist in the warehouse as a view. Save the view again to create it.`,
    ),
  refreshFailed: (qualifiedName: string, message: string, cause: unknown) =>
    viewProblem(
      'QUERY_FAILED',
      `${qualifiedName} could not be refreshed: ${asSentence(message)} Its old rows stay.`,
      cause,
    ),
}

interface UserViewQuery {
  /** The user's query text. */
  query: string
  /** The number of characters that Sluice adds before the user's text. */
  prefixLength: number
  qualifiedName: string
}

/** Codes of problems that need no position in the query. */
const limitProblemCodes = new Set(['DISK_FULL', 'QUERY_TIMEOUT', 'RESULT_TOO_LARGE'])
/** SQLSTATEs of a problem with the name of the view, and not with its query. */
const viewNameStates: ReadonlySet<string> = new Set([sqlStates.duplicateTable, sqlStates.invalidSchemaName])

/**
 * Returns the problem for a statement that creates a view and failed. If the user's query is wrong, the problem has the
 * server's message and the line in the user's text. It contains none of the SQL that Sluice adds.
 */
export function queryFailed(error: unknown, { query, prefixLength, qualifiedName }: UserViewQuery): unknown {
  const problem = warehouseProblem(error, { qualifiedName })
  if (!(problem instanceof WarehouseProblem)) return problem
  if (problem.retryable || limitProblemCodes.has(problem.code)) return problem
  const { message, position, hint } = error as Partial<Record<'position' | 'hint', string>> & Error
  const code = sqlStateOf(error)
  if (viewNameStates.has(code)) return problem
  if (code === sqlStates.syntaxError && message.includes('multiple commands'))
    return viewProblem('SQL_NOT_ALLOWED', 'The query consists of several statements. Enter a single SELECT.', error)
  const hintText = hint ? ` ${asSentence(hint)}` : ''
  const sentence = `The query failed${describeLine(query, Number(position) - prefixLength)}: ${asSentence(message)}${hintText}`
  const isRelationMissing = code === sqlStates.undefinedTable
  return new WarehouseProblem('QUERY_FAILED', sentence, { cause: error, relationMissing: isRelationMissing })
}

/**
 * Returns ` in line 3` for a position in the text, counted from 1. Returns an empty string for a position outside the
 * text, or NaN.
 */
function describeLine(text: string, position: number): string {
  const isInText = position > 0 && position <= text.length
  return isInText ? ` in line ${text.slice(0, position - 1).split('\n').length}` : ''
}
