import { type DataType, dataTypes } from '@sluice/contracts'
import { SourceProblem } from '../../source.ts'
import { fieldsOf, textOf } from '../http/answers.ts'
import { parseJson } from '../tables/exact-numbers.ts'
import type { KnownColumn } from '../tables/table-spool.ts'

/** What one answer of a function holds. */
export interface Rows {
  rows: readonly unknown[]
  /** Absent where it is the last one. */
  nextToken?: string | number
  columns: KnownColumn[]
  key: string[]
}

/** Types of `columns` that this version does not know. */
type Unknown = (column: string, type: string) => void

/**
 * The rows of an answer: a list of objects; or `{ rows, nextToken?, columns?, key? }`; or either of them as the `body` of what an API
 * gateway is answered with. Throws `SourceProblem`.
 */
export function rowsIn(answer: unknown, words: (text: string) => string, unknown: Unknown): Rows {
  const said = unwrapped(answer, words)
  if (Array.isArray(said)) return { rows: said as unknown[], columns: [], key: [] }
  const { rows, nextToken, columns, key } =
    said !== null && typeof said === 'object' ? fieldsOf(said, 'the function') : {}
  if (!Array.isArray(rows)) throw noRows()
  const next = textOf(nextToken)
  return {
    rows: rows as unknown[],
    ...(next !== undefined && { nextToken: nextToken as string | number }),
    columns: listOf(columns).flatMap((column) => known(column, unknown)),
    key: listOf(typeof key === 'string' ? [key] : key).flatMap((path) => textOf(path) ?? []),
  }
}

/** `{statusCode, headers, body}`, as functions behind a gateway answer, is what its body is. */
function unwrapped(answer: unknown, words: (text: string) => string): unknown {
  if (typeof answer !== 'object' || answer === null || !('statusCode' in answer) || 'rows' in answer) return answer
  const { statusCode, body, isBase64Encoded } = answer as Record<string, unknown>
  const text = isBase64Encoded === true ? Buffer.from(String(body), 'base64').toString() : body
  if (Number(statusCode) >= 400) {
    const says = text === undefined ? '' : ` It says: ${words(typeof text === 'string' ? text : JSON.stringify(text))}`
    throw new SourceProblem(
      'SOURCE_FAILED',
      `The function answers ${String(statusCode)} in its envelope: look what is wrong there, then run again.${says}`,
    )
  }
  if (typeof text !== 'string') return text
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof SourceProblem) throw error
    throw noRows()
  }
}

const noRows = (): SourceProblem =>
  new SourceProblem(
    'OTHER_PROTOCOL',
    'What the function answers holds no rows: let it answer a list of objects, or {"rows": [ … ], "nextToken": …}.',
  )

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

function known(column: unknown, unknown: Unknown): KnownColumn[] {
  if (typeof column === 'string') return [{ path: column }]
  if (typeof column !== 'object' || column === null) return []
  const { name, type } = column as Record<string, unknown>
  const path = textOf(name)
  if (path === undefined) return []
  const wanted = textOf(type)
  if (wanted === undefined) return [{ path }]
  const dataType = dataTypes.find((one): one is DataType => one === wanted.toUpperCase())
  if (!dataType) unknown(path, wanted)
  return [{ path, ...(dataType && { dataType }) }]
}
