import { types } from 'node:util'
import { DatabaseError } from 'pg'
import { LeaseLost, WarehouseProblem } from '../warehouse.ts'
import { asSentence } from '@sluice/process'

/** The place of the error, for the message to the user. */
export interface ProblemContext {
  /** `"schema"."table"` or the warehouse, as part of a sentence. */
  place: string
  /** Column identifiers to labels, for naming the column in a bad row. */
  labels?: ReadonlyMap<string, string>
}

type ProblemTemplate = [
  code: string,
  sentence: (scene: ProblemContext, error: DatabaseError) => string,
  retryable?: 'retryable',
]

const unavailable: ProblemTemplate = [
  'WAREHOUSE_UNAVAILABLE',
  () => 'The warehouse is not reachable just now. Try again in a moment.',
  'retryable',
]
const full: ProblemTemplate = [
  'DISK_FULL',
  () => 'The disk of the warehouse is full. Free some space or enlarge it, then run again.',
]
const denied: ProblemTemplate = [
  'WAREHOUSE_ACCESS_DENIED',
  () => 'The warehouse did not accept our credentials. Check them, or provision the client’s warehouse again.',
]
const busy: ProblemTemplate = [
  'TABLE_BUSY',
  ({ place }) =>
    `${place} is in use by a long query or by maintenance, so it could not be replaced yet. The old data stays.`,
  'retryable',
]

/** Maps SQLSTATEs to problems; the first two characters are the class. https://www.postgresql.org/docs/18/errcodes-appendix.html */
const problemTemplates: Record<string, ProblemTemplate> = {
  '08': unavailable,
  // A tuple whose bytes do not add up: no connection is to blame, and no other try helps.
  '08P01': ['BAD_VALUE', badValue],
  '57P01': unavailable,
  '57P02': unavailable,
  '57P03': unavailable,
  '57P05': unavailable,
  '25P03': unavailable,
  '58': [
    'WAREHOUSE_UNAVAILABLE',
    () => 'The warehouse reports a fault of its own storage. Look at its log.',
    'retryable',
  ],
  '53100': full,
  '53400': full,
  '53200': ['WAREHOUSE_BUSY', () => 'The warehouse is out of memory just now. Try again in a moment.', 'retryable'],
  '53300': [
    'WAREHOUSE_BUSY',
    () => 'The warehouse has no free connection just now. Try again in a moment.',
    'retryable',
  ],
  '28': denied,
  '3D000': ['WAREHOUSE_MISSING', () => 'The client’s warehouse database does not exist. Provision it again.'],
  '3F000': ['SCHEMA_MISSING', ({ place }) => `The schema of ${place} does not exist. Create it first.`],
  '42P01': ['TABLE_MISSING', ({ place }) => `${place} does not exist. Load it first.`],
  '42501': [
    'WAREHOUSE_FORBIDDEN',
    ({ place }, error) => `The warehouse does not allow this on ${place}: ${asSentence(error.message)}`,
  ],
  '55P03': busy,
  '40P01': busy,
  '55006': busy,
  '57014': ['QUERY_TIMEOUT', ({ place }) => `The query on ${place} took longer than is allowed and was stopped.`],
  '25P04': ['QUERY_TIMEOUT', ({ place }) => `The transaction on ${place} took longer than is allowed and was stopped.`],
  '54011': [
    'TOO_MANY_COLUMNS',
    ({ place }) => `${place} would have more than 1,600 columns, counting those that vanished from the source.`,
  ],
  '23505': [
    'DUPLICATE_KEY',
    ({ place }, error) => `Two rows of ${place} have the same primary key: ${error.detail ?? error.message}`,
  ],
  '23502': [
    'NULL_KEY',
    ({ place }, error) => `A row of ${place} has no value in primary key column "${error.column ?? ''}".`,
  ],
  '22': ['BAD_VALUE', badValue],
  '54': ['BAD_VALUE', badValue],
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

/** Maps an error of the server to a `WarehouseProblem`. Returns every other error unchanged. */
export function warehouseProblem(error: unknown, scene: ProblemContext): unknown {
  if (error instanceof WarehouseProblem || error instanceof LeaseLost || !types.isNativeError(error)) return error
  const verdict = findTemplate(error)
  if (!verdict) return error
  const [code, sentence, retryable] = verdict
  const problem = { cause: error, retryable: retryable === 'retryable' }
  return new WarehouseProblem(code, sentence(scene, error as DatabaseError), problem)
}

function findTemplate(error: Error): ProblemTemplate | undefined {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (error instanceof DatabaseError) {
    return (
      problemTemplates[code] ??
      problemTemplates[code.slice(0, 2)] ?? [
        'WAREHOUSE_REFUSED',
        (_, refusal) => `The warehouse refused: ${asSentence(refusal.message)}`,
      ]
    )
  }
  if (networkErrors.has(code)) return unavailable
  if (
    /^timeout exceeded when trying to connect|^timeout expired$|^Query read timeout$|^Connection terminated|^Client has encountered a connection error|server does not support SSL/.test(
      error.message,
    )
  ) {
    return unavailable
  }
  return undefined
}

/**
 * The server's CONTEXT reads `COPY table, line 3, column age`. Its line number counts the rows of one connection, which means
 * nothing to users.
 */
function badValue({ place, labels }: ProblemContext, error: DatabaseError): string {
  const [, column] = /line \d+, column ("(?:[^"]|"")*"|[^:]+)/.exec(error.where ?? '') ?? []
  const named = column ? `, column "${labels?.get(column) ?? column}"` : ''
  return `A value for ${place}${named} does not fit: ${asSentence(error.message)}`
}

/** Reports views that another role owns: a publication does not drop and recreate those. */
export function viewsDepend({ place }: ProblemContext, views: string, cause?: unknown): WarehouseProblem {
  const sentence = `A column of ${place} needs a wider type, but views depend on it (${views}). Drop those views, run again and create them again. The old data stays.`
  return new WarehouseProblem('VIEWS_DEPEND', sentence, { cause })
}

export function tableNotOwned({ place }: ProblemContext): WarehouseProblem {
  return new WarehouseProblem(
    'TABLE_NOT_OURS',
    `${place} exists already and was not made by a load. Choose another table name, or move that table away.`,
  )
}

/** Names the objects that depend on one that was to be dropped; rethrows other errors. */
export function explainDependents(place: string, code: 'SCHEMA_NOT_EMPTY' | 'VIEWS_DEPEND') {
  return (error: unknown): never => {
    const cause = (error as Error).cause as { code?: string; detail?: string } | undefined
    if (cause?.code !== '2BP01') throw error
    throw new WarehouseProblem(code, `${place} is still in use: ${asSentence(cause.detail ?? '')} Drop that first.`, {
      cause,
    })
  }
}
