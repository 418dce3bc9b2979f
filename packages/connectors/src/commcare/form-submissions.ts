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
 * Converts the answer, or the group of answers, at a path of the form to a value of a record. Returns undefined for a
 * question without an answer. Parses geopoints.
 */
function parseAnswer(answer: unknown, path: string, form: CommCareForm | undefined): unknown {
  if (Array.isArray(answer)) return parseAnswerList(answer, path, form)
  if (answer === '') return undefined
  if (typeof answer === 'string' && form?.geopoints.has(path))
    return answer.trim() === '' ? undefined : parseGeopoint(answer)
  return typeof answer === 'object' && answer !== null ? parseGroup(answer, path, form) : answer
}

function parseAnswerList(answers: readonly unknown[], path: string, form: CommCareForm | undefined): unknown[] {
  const values = answers.map((answer) => parseAnswer(answer, path, form))
  // CommCare returns an empty text for a row of a repeat group without answers.
  return form?.repeats.has(path) ? values.map((row) => (typeof row === 'object' ? row : {})) : values
}

/**
 * Converts a group of answers to an object. XML attributes have keys with an `@`, which is removed unless a question
 * has the same name. Leaves out keys with a `#`, which are about the XML source.
 */
function parseGroup(group: object, path: string, form: CommCareForm | undefined): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [key, answer] of Object.entries(group)) {
    if (key.startsWith('#')) continue
    const name = key.replace(/^@/, '')
    const hasQuestionOfSameName = name !== key && name in group
    const answerPath = path === '' ? name : `${path}/${name}`
    const value = parseAnswer(answer, answerPath, form)
    if (value === undefined) continue
    // CommCare returns the only row of a repeat group as an object instead of a list.
    const isOnlyRow = form?.repeats.has(answerPath) && typeof value === 'object' && !Array.isArray(value)
    fields[hasQuestionOfSameName ? key : name] = isOnlyRow ? [value] : value
  }
  return fields
}
