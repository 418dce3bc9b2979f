import { types } from 'node:util'
import { DatabaseError } from 'pg'
import { LeaseLost, WarehouseProblem } from '../warehouse.ts'
import { asSentence } from '@sluice/process'

/** The table and columns that an error message names. */
export interface ProblemContext {
  /** The subject of an error message: `"schema"."table"`, or “the warehouse”. */
  qualifiedName: string
  /** Labels by column name, for naming the column that has a bad value. */
  labels?: ReadonlyMap<string, string>
}

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

const networkErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Converts an error of the server to a `WarehouseProblem`. Returns every other error unchanged. */
export function warehouseProblem(error: unknown, problemContext: ProblemContext): unknown {
  if (error instanceof WarehouseProblem || error instanceof LeaseLost || !types.isNativeError(error)) return error
  const verdict = findTemplate(error)
  if (!verdict) return error
  const [code, sentence, retryable] = verdict
  const problem = { cause: error, retryable: retryable === 'retryable' }
  return new WarehouseProblem(code, sentence(problemContext, error as DatabaseError), problem)
}

function findTemplate(error: Error): ProblemTemplate | undefined {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (error instanceof DatabaseError) {
    return (
      problemTemplates[code] ??
      problemTemplates[code.slice(0, 2)] ?? [
        'WAREHOUSE_REFUSED',
        (_, refusal) => `The warehouse rejected the operation: ${asSentence(refusal.message)}`,
      ]
    )
  }
  if (networkErrors.has(code)) return serverUnavailable
  if (
    /^timeout exceeded when trying to connect|^timeout expired$|^Query read timeout$|^Connection terminated|^Client has encountered a connection error|server does not support SSL/.test(
      error.message,
    )
  ) {
    return serverUnavailable
  }
  return undefined
}

/**
 * Returns a sentence about a value that does not fit its column. The error's CONTEXT, such as `COPY table, line 3,
 * column age`, names the column. Its line number is left out, because it counts only the lines of one of several
 * connections.
 */
function formatBadValue({ qualifiedName, labels }: ProblemContext, error: DatabaseError): string {
  const [, column] = /line \d+, column ("(?:[^"]|"")*"|[^:]+)/.exec(error.where ?? '') ?? []
  const columnText = column ? `, column "${labels?.get(column) ?? column}"` : ''
  return `The warehouse cannot store a value of ${qualifiedName}${columnText}: ${asSentence(error.message)}`
}

/**
 * Returns the problem for a column change that is blocked by views of another role, which a publication cannot
 * recreate.
 */
export function viewsDepend({ qualifiedName }: ProblemContext, views: string, cause?: unknown): WarehouseProblem {
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
 * Returns an error handler for a drop. If other objects depend on the dropped object, it throws a problem that names
 * them. It rethrows other errors.
 */
export function explainDependents(qualifiedName: string, code: 'SCHEMA_NOT_EMPTY' | 'VIEWS_DEPEND') {
  return (error: unknown): never => {
    const cause = (error as Error).cause as { code?: string; detail?: string } | undefined
    if (cause?.code !== '2BP01') throw error
    throw new WarehouseProblem(
      code,
      `${qualifiedName} is still in use: ${asSentence(cause.detail ?? '')} Drop these objects first.`,
      {
        cause,
      },
    )
  }
}
