import { parseGeopoint, parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { requestFittingPage, createNextCursor } from '../http-connector/paging.ts'
import type { RecordPage } from '../http-connector/http-system.ts'
import { commCareName, type CommCareForm } from './applications.ts'

export interface FormQuery {
  domain: string
  xmlns: string
  includeArchived: boolean
}

const maxFormsPerPage = 1_000

/**
 * Reads forms in the order in which CommCare received them. Each page starts at the timestamp at which the previous
 * page ended; paging by offset would skip or repeat forms while CommCare receives new ones. Increments always request
 * archived forms too, so that a form that was archived after it was loaded is updated.
 */
export async function* readForms(
  http: HttpSession,
  { domain, xmlns, includeArchived }: FormQuery,
  since: string | undefined,
): AsyncGenerator<RecordPage, void, void> {
  let start = since
  let offset = 0
  let limit = maxFormsPerPage
  let latestIndexedOn = ''
  /**
   * Keys of the submissions that were already read and have the timestamp at which the next page starts. They are
   * skipped there.
   */
  let readSubmissionKeys = new Set<string>()
  for (;;) {
    const { page, pageSize } = await requestFittingPage(limit, (size) =>
      http.getJson(`a/${domain}/api/form/v1/`, {
        subject: `The project space "${domain}"`,
        query: {
          xmlns,
          limit: size,
          offset: offset === 0 ? undefined : offset,
          order_by: 'indexed_on',
          indexed_on_start: start,
          include_archived: includeArchived || since !== undefined ? true : undefined,
        },
      }),
    )
    limit = pageSize
    const records = parseList(page, commCareName, 'objects')
    const { next } = parseObject(parseObject(page, commCareName)['meta'], commCareName)
    const isLast = toText(next) === undefined || records.length === 0
    const end = getIndexedOn(records.at(-1))
    if (end > latestIndexedOn) latestIndexedOn = end
    yield {
      records: records.filter((record) => !readSubmissionKeys.has(getSubmissionKey(record))),
      cursor: isLast ? createNextCursor(latestIndexedOn, http.startedAt(), since) : undefined,
    }
    if (isLast) return
    if (end === '' || end === start) {
      // More submissions have this timestamp than fit on a page, so the next page continues by offset.
      offset += records.length
      for (const record of records) readSubmissionKeys.add(getSubmissionKey(record))
    } else {
      start = end
      offset = 0
      readSubmissionKeys = new Set(records.filter((record) => getIndexedOn(record) === end).map(getSubmissionKey))
    }
  }
}

export const getIndexedOn = (record: unknown): string =>
  toText((record as { indexed_on?: unknown } | null)?.indexed_on) ?? ''

const getSubmissionKey = (record: unknown): string =>
  `${toText((record as { id?: unknown } | null)?.id)} ${getIndexedOn(record)}`

/**
 * Returns a submission without artifacts of its XML source: attributes become fields, unanswered questions are omitted,
 * and a repeat group is always a list, even with one entry. The field `xform` contains the name, version and xmlns of
 * the form.
 */
export function parseSubmission(record: unknown, form: CommCareForm | undefined): unknown {
  const answers = (record as { form?: unknown } | null)?.form
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers)) return record
  const {
    '@name': formName,
    '@version': version,
    '@xmlns': xmlns,
    '@uiVersion': _,
    ...fields
  } = answers as Record<string, unknown>
  return { ...(record as object), xform: { name: formName, version, xmlns }, form: parseAnswer(fields, '', form) }
}

/**
 * Converts an answer, or a group of answers, to a value of a record. Removes empty texts and keys that start with `#`.
 * Removes the `@` of attributes unless another key has the same name. Parses geopoints. Returns the rows of a repeat
 * group as a list, even if there is only one.
 */
function parseAnswer(value: unknown, path: string, form: CommCareForm | undefined): unknown {
  if (Array.isArray(value)) {
    const rows = value.map((row) => parseAnswer(row, path, form))
    // CommCare returns an empty text for a row of a repeat group without answers.
    return form?.repeats.has(path) ? rows.map((row) => (typeof row === 'object' ? row : {})) : rows
  }
  if (value === '') return undefined
  if (typeof value === 'string' && form?.geopoints.has(path))
    return value.trim() === '' ? undefined : parseGeopoint(value)
  if (typeof value !== 'object' || value === null) return value
  const fields: Record<string, unknown> = {}
  for (const [key, answer] of Object.entries(value)) {
    if (key.startsWith('#')) continue
    const name = key.replace(/^@/, '')
    const isAttributeWithTakenName = name !== key && name in value
    const fieldName = isAttributeWithTakenName ? key : name
    const fieldPath = path === '' ? name : `${path}/${name}`
    const parsed = parseAnswer(answer, fieldPath, form)
    if (parsed === undefined) continue
    const isSingleRow = form?.repeats.has(fieldPath) && typeof parsed === 'object' && !Array.isArray(parsed)
    fields[fieldName] = isSingleRow ? [parsed] : parsed
  }
  return fields
}
