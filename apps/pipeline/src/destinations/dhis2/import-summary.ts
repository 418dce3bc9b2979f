import type { ValueItem } from '../value-chunks.ts'
import type { RejectedRow } from '../push-report.ts'

export interface ImportSummary {
  status: 'SUCCESS' | 'WARNING' | 'ERROR'
  imported: number
  updated: number
  ignored: number
  deleted: number
  conflicts: Conflict[]
  /**
   * The indexes of the values in the request that DHIS2 rejected, from 0. Undefined for versions of DHIS2 that do not
   * return them.
   */
  rejected: number[] | undefined
  description: string | undefined
}

export interface Conflict {
  reason: string
  /** The field with the conflict, if DHIS2 names it. */
  property: string | undefined
  /** The id or value that caused the conflict. */
  object: string | undefined
  /** The indexes of the affected values in the request, from 0. Empty for versions of DHIS2 that do not return them. */
  indexes: number[]
}

type JsonObject = Readonly<Record<string, unknown>>

/**
 * Returns the import summary of a response. Before DHIS2 2.38, the summary is the whole response; later, a part of it.
 * Returns undefined if the response has none. Use the status in the summary instead of the HTTP status, because DHIS2
 * returns 409 even if it stored some values.
 */
export function parseImportSummary(response: unknown): ImportSummary | undefined {
  const summary = asObject(asObject(response)?.['response']) ?? asObject(response)
  const counts = asObject(summary?.['importCount'])
  if (!summary || !counts) return undefined
  const conflicts = asArray(summary['conflicts']).map(parseConflict)
  return {
    status: parseStatus(summary['status'], conflicts),
    imported: asCount(counts['imported']),
    updated: asCount(counts['updated']),
    ignored: asCount(counts['ignored']),
    deleted: asCount(counts['deleted']),
    conflicts,
    rejected: Array.isArray(summary['rejectedIndexes']) ? asIndexes(summary['rejectedIndexes']) : undefined,
    description: asText(summary['description']),
  }
}

/**
 * Returns the status of an import summary. Conflicts make it a WARNING, because DHIS2 sometimes reports them with the
 * status SUCCESS.
 */
function parseStatus(status: unknown, conflicts: readonly Conflict[]): ImportSummary['status'] {
  if (status === 'ERROR') return 'ERROR'
  return status === 'WARNING' || conflicts.length > 0 ? 'WARNING' : 'SUCCESS'
}

/** Returns the error message in a response without an import summary; undefined if it has none. */
export function findErrorMessage(responseBody: unknown): string | undefined {
  const body = asObject(responseBody)
  const innerResponse = asObject(body?.['response'])
  const [firstConflict] = asArray(innerResponse?.['conflicts'] ?? body?.['conflicts']).map(parseConflict)
  const description =
    asText(body?.['message']) ?? asText(innerResponse?.['description']) ?? asText(body?.['description'])
  const code = asText(body?.['errorCode']) ?? asText(innerResponse?.['errorCode'])
  const describedCode = code && description ? `${code}: ${description}` : description
  const sentences = [describedCode, firstConflict?.reason].filter((sentence) => sentence !== undefined)
  return sentences.length > 0 ? sentences.join(' ') : undefined
}

/** Parses a conflict: the reason why DHIS2 rejected values, and the indexes of these values. */
function parseConflict(value: unknown): Conflict {
  const conflict = asObject(value) ?? {}
  const code = asText(conflict['errorCode'])
  const reason = asText(conflict['value']) ?? 'DHIS2 gives no reason.'
  return {
    reason: code ? `${code}: ${reason}` : reason,
    property: asText(conflict['property']),
    object: asText(conflict['object']),
    indexes: asIndexes(asArray(conflict['indexes'])),
  }
}

const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
const asArray = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const asText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const asCount = (value: unknown): number => (Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : 0)
const asIndexes = (values: unknown[]): number[] =>
  values.filter((value): value is number => Number.isSafeInteger(value) && Number(value) >= 0)

interface RowRejections {
  /** One entry for each reason why a row was rejected, up to `maxReasons`. */
  rows: RejectedRow[]
  /** The number of rejected rows. */
  rejected: number
}

const noReasonGiven = 'DHIS2 gives no reason.'

/**
 * The maximum number of reasons per request. A response can have thousands of conflicts, and before DHIS2 2.38 each can
 * affect every row.
 */
const maxReasons = 20_000

/** Returns the rows that DHIS2 rejected, with the reasons. `redact` removes secrets. */
export function listRejects(
  summary: ImportSummary,
  items: readonly ValueItem[],
  redact: (text: string) => string,
): RowRejections {
  const explainedIndexes = new Set<number>()
  const rows: RejectedRow[] = []
  const findIndexes = createConflictFinder(items)

  function addReason(index: number, reason: string, column?: string): void {
    const { line, json: raw } = items[index]!
    if (rows.length < maxReasons) rows.push({ line, ...(column && { column }), reason, raw })
  }

  for (const conflict of summary.conflicts) {
    const indexes = findIndexes(conflict)
    const column = conflict.property && redact(conflict.property).slice(0, 100)
    const reason = redact(indexes.length === 0 ? describeConflict(conflict) : conflict.reason)
    for (const index of indexes) {
      explainedIndexes.add(index)
      addReason(index, reason, column)
    }
    // Report a conflict that names no row with the first row of the request.
    if (indexes.length === 0) addReason(0, reason, column)
  }

  // Newer versions of DHIS2 list the indexes of all rejected values, including those without a conflict.
  if (summary.rejected) {
    const rejectedIndexes = new Set(summary.rejected.filter((index) => index < items.length))
    for (const index of rejectedIndexes.difference(explainedIndexes)) addReason(index, noReasonGiven)
    return { rows, rejected: rejectedIndexes.size }
  }
  if (explainedIndexes.size > 0 || summary.conflicts.length === 0) return { rows, rejected: explainedIndexes.size }
  // No conflict names a value, so the number of ignored values is the best estimate of rejected rows.
  return { rows, rejected: Math.min(summary.ignored, items.length) }
}

const describeConflict = ({ object, reason }: Conflict): string =>
  object !== undefined && !reason.includes(object) ? `${object}: ${reason}` : reason

/**
 * Returns a function that finds the values that a conflict affects. Before DHIS2 2.38, a conflict names an id or a
 * value and affects every row that contains it.
 */
function createConflictFinder(items: readonly ValueItem[]): (conflict: Conflict) => readonly number[] {
  let indexesByText: Map<string, number[]> | undefined

  return ({ indexes, object }) => {
    if (indexes.length > 0) return [...new Set(indexes)].filter((index) => index < items.length)
    if (object === undefined) return []
    indexesByText ??= indexByFieldText(items)
    return indexesByText.get(object) ?? []
  }
}

/** Returns the indexes of the values by the texts of their fields. A value has an entry for each of its fields. */
function indexByFieldText(items: readonly ValueItem[]): Map<string, number[]> {
  const indexesByText = new Map<string, number[]>()
  items.forEach(({ json }, index) => {
    for (const text of new Set(Object.values(JSON.parse(json) as object).map(String))) {
      const indexes = indexesByText.get(text)
      if (indexes) indexes.push(index)
      else indexesByText.set(text, [index])
    }
  })
  return indexesByText
}
