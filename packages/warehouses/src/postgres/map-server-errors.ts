import { types } from 'node:util'
import { DatabaseError } from 'pg'
import { LeaseLost, WarehouseProblem } from '../warehouse.ts'
import { asSentence } from '@sluice/process'
import { sqlStates } from './server/sql-states.ts'

/** The table and columns that an error message names. */
export interface ProblemContext {
  /** The subject of an error message: `"schema"."table"`, or “the warehouse”. */
  qualifiedName: string
  /** Labels by column name, for naming the column that has a bad value. */
  labels?: ReadonlyMap<string, string>
}

/** The code, the message and the retryability of the problem for a server error. */
type ProblemTemplate = [
  code: string,
  sentence: (problemContext: ProblemContext, error: DatabaseError) => string,
  retryable?: 'retryable',
]

const serverUnavailable: ProblemTemplate = [
  'WAREHOUSE_UNAVAILABLE',
  () => 'The warehouse server is unreachable. Try again in a moment.',
  'retryable',
]
const diskFull: ProblemTemplate = [
  'DISK_FULL',
  () => 'The disk of the warehouse is full. Delete unused tables or enlarge the disk, then run again.',
]
const accessDenied: ProblemTemplate = [
  'WAREHOUSE_ACCESS_DENIED',
  () =>
    'The warehouse server rejected the credentials of Sluice. Check them, or provision the client’s warehouse again.',
]
const serverBusy: ProblemTemplate = [
  'TABLE_BUSY',
  ({ qualifiedName }) =>
    `A long query or maintenance locks ${qualifiedName}, so it was not replaced and the old data stays. Try again later.`,
  'retryable',
]

/**
 * Problems by SQLSTATE. A two-character key applies to the whole class.
 * https://www.postgresql.org/docs/18/errcodes-appendix.html
 */
const problemTemplates: Record<string, ProblemTemplate> = {
  '08': serverUnavailable,
  // The bytes of a row are malformed. Although the class is 08, the connection is not the cause, so a retry does not
  // help.
  '08P01': ['BAD_VALUE', formatBadValue],
  '57P01': serverUnavailable,
  '57P02': serverUnavailable,
  '57P03': serverUnavailable,
  '57P05': serverUnavailable,
  '25P03': serverUnavailable,
  '58': [
    'WAREHOUSE_UNAVAILABLE',
    () => 'The warehouse server reports an error of its storage. An operator has to check the server’s log.',
    'retryable',
  ],
  '53100': diskFull,
  '53400': diskFull,
  '53200': ['WAREHOUSE_BUSY', () => 'The warehouse server is out of memory. Try again in a moment.', 'retryable'],
  '53300': ['WAREHOUSE_BUSY', () => 'The warehouse server has no free connection. Try again in a moment.', 'retryable'],
  '28': accessDenied,
  '3D000': ['WAREHOUSE_MISSING', () => 'The client’s warehouse database does not exist. Provision it again.'],
  '3F000': ['SCHEMA_MISSING', ({ qualifiedName }) => `The schema of ${qualifiedName} does not exist. Create it first.`],
  '42P01': ['TABLE_MISSING', ({ qualifiedName }) => `${qualifiedName} does not exist. Load it first.`],
  '42501': [
    'WAREHOUSE_FORBIDDEN',
    ({ qualifiedName }, error) =>
      `The warehouse denies this operation on ${qualifiedName}: ${asSentence(error.message)}`,
  ],
  '55P03': serverBusy,
  '40P01': serverBusy,
  '55006': serverBusy,
  '57014': [
    'QUERY_TIMEOUT',
    ({ qualifiedName }) =>
      `The query on ${qualifiedName} exceeded its time limit and was stopped. Simplify it or process fewer rows.`,
  ],
  '25P04': [
    'QUERY_TIMEOUT',
    ({ qualifiedName }) =>
      `The transaction on ${qualifiedName} exceeded its time limit and was stopped. Simplify it or process fewer rows.`,
  ],
  '54011': [
    'TOO_MANY_COLUMNS',
    ({ qualifiedName }) =>
      `${qualifiedName} would have more than 1,600 columns, including those that the source no longer has. Select fewer columns, or load a new table.`,
  ],
  '23505': [
    'DUPLICATE_KEY',
    ({ qualifiedName }, error) =>
      `Two rows of ${qualifiedName} have the same key: ${asSentence(error.detail ?? error.message)} Correct the source, or choose another key.`,
  ],
  '23502': [
    'NULL_KEY',
    ({ qualifiedName }, error) =>
      `A row of ${qualifiedName} has no value in key column "${error.column ?? ''}". Correct the source, or choose another key.`,
  ],
  '22': ['BAD_VALUE', formatBadValue],
  '54': ['BAD_VALUE', formatBadValue],
}

const networkErrorCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Messages of node-postgres for connections that failed or were lost. These errors have no code. */
const lostConnectionMessage =
  /^timeout exceeded when trying to connect|^timeout expired$|^Query read timeout$|^Connection terminated|^Client has encountered a connection error|server does not support SSL/

const otherServerError: ProblemTemplate = [
  'WAREHOUSE_REFUSED',
  (_, error) => `The warehouse rejected the operation: ${asSentence(error.message)}`,
]

/**
 * Converts an error of the server, or of the connection to it, to a `WarehouseProblem`. Returns every other error
 * unchanged.
 */
export function warehouseProblem(error: unknown, problemContext: ProblemContext): unknown {
  if (error instanceof WarehouseProblem || error instanceof LeaseLost || !types.isNativeError(error)) return error
  const template = findTemplate(error)
  if (!template) return error
  const [code, sentence, retryable] = template
  const options = { cause: error, retryable: retryable === 'retryable' }
  return new WarehouseProblem(code, sentence(problemContext, error as DatabaseError), options)
}

function findTemplate(error: Error): ProblemTemplate | undefined {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (error instanceof DatabaseError) {
    const sqlStateClass = code.slice(0, 2)
    return problemTemplates[code] ?? problemTemplates[sqlStateClass] ?? otherServerError
  }
  const isConnectionError = networkErrorCodes.has(code) || lostConnectionMessage.test(error.message)
  return isConnectionError ? serverUnavailable : undefined
}

/**
 * Returns a sentence about a value that does not fit its column. Finds the column in the error's CONTEXT, such as `COPY
 * table, line 3, column age`. Leaves out the line number, because it counts only the lines of one of several
 * connections.
 */
function formatBadValue({ qualifiedName, labels }: ProblemContext, error: DatabaseError): string {
  const [, column] = /line \d+, column ("(?:[^"]|"")*"|[^:]+)/.exec(error.where ?? '') ?? []
  const columnText = column ? `, column "${labels?.get(column) ?? column}"` : ''
  return `The warehouse cannot store a value of ${qualifiedName}${columnText}: ${asSentence(error.message)}`
}

/**
 * Returns the problem for a column change that views of another role block, because a publication cannot recreate them.
 * `views` lists their names.
 */
export function viewsDependProblem(
  { qualifiedName }: ProblemContext,
  views: string,
  cause?: unknown,
): WarehouseProblem {
  const sentence = `A column of ${qualifiedName} needs a wider type, but views that Sluice does not manage read it (${views}); the old data stays. Drop those views, run again, and recreate them.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause })
}

export function tableNotOwned({ qualifiedName }: ProblemContext): WarehouseProblem {
  return new WarehouseProblem(
    'TABLE_NOT_OURS',
    `${qualifiedName} already exists and was not created by a load. Choose another table name, or rename that table.`,
  )
}

/**
 * Returns a handler for the `WarehouseProblem` of a failed drop. If other objects depend on the dropped object, the
 * handler throws a problem with this code that names them. It rethrows other problems.
 */
export function explainDependents(qualifiedName: string, code: 'SCHEMA_NOT_EMPTY' | 'VIEWS_DEPEND') {
  return (problem: unknown): never => {
    const cause = (problem as Error).cause as { code?: string; detail?: string } | undefined
    if (cause?.code !== sqlStates.dependentObjectsStillExist) throw problem
    throw new WarehouseProblem(
      code,
      `${qualifiedName} is still in use: ${asSentence(cause.detail ?? '')} Drop these objects first.`,
      {
        cause,
      },
    )
  }
}
