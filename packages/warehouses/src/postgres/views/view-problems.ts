import { WarehouseProblem } from '../../warehouse.ts'
import { warehouseProblem } from '../problems.ts'
import { asSentence } from '@sluice/process'

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

const undefinedTable = '42P01'

interface UserViewQuery {
  /** The user's query text. */
  query: string
  /** The number of characters that Sluice adds before the user's text. */
  before: number
  qualifiedName: string
}

/**
 * Returns the problem for a failed view query, with the server's message and the line in the user's text. The problem
 * shows none of the SQL that Sluice adds.
 */
export function queryFailed(error: unknown, { query, before, qualifiedName }: UserViewQuery): unknown {
  const problem = warehouseProblem(error, { qualifiedName })
  if (!(problem instanceof WarehouseProblem)) return problem
  const { code, message, position, hint } = error as Partial<Record<'code' | 'position' | 'hint', string>> & Error
  if (problem.retryable || ['DISK_FULL', 'QUERY_TIMEOUT', 'RESULT_TOO_LARGE'].includes(problem.code)) return problem
  if (code === '42P07' || code === '3F000') return problem
  if (code === '42601' && message.includes('multiple commands'))
    return viewProblem('SQL_NOT_ALLOWED', 'The query consists of several statements. Enter a single SELECT.', error)
  const positionInQuery = Number(position) - before
  const line =
    position && positionInQuery > 0 && positionInQuery <= query.length
      ? ` in line ${query.slice(0, positionInQuery - 1).split('\n').length}`
      : ''
  const sentence = `The query failed${line}: ${asSentence(message)}${hint ? ` ${asSentence(hint)}` : ''}`
  return new WarehouseProblem('QUERY_FAILED', sentence, { cause: error, relationMissing: code === undefinedTable })
}
