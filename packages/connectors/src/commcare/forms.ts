import { parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { requestFittingPage, boundCursor } from '../http-connector/paging.ts'
import { type RecordPage, overlapSeconds } from '../http-connector/http-system.ts'
import type { CommCareForm } from './applications.ts'

export interface FormQuery {
  domain: string
  xmlns: string
  includeArchived: boolean
}

const name = 'CommCare'
const pageSize = 1_000

/**
 * Reads forms in the order in which the server received them. Each page starts at the timestamp where the previous page ended, because
 * offsets shift during the read. Increments always request archived forms too; an archived form is returned with a mark.
 */
export async function* readForms(
  http: HttpSession,
  { domain, xmlns, includeArchived }: FormQuery,
  cursor: unknown,
): AsyncGenerator<RecordPage, void, void> {
  const since = typeof cursor === 'string' ? cursor : undefined
  let start = since
  let offset = 0
  let most = pageSize
  let latest = ''
  /** Submissions already read that have the start timestamp of the next page. */
  let given = new Set<string>()
  for (;;) {
    const { answer, limit } = await requestFittingPage(most, (some) =>
      http.getJson(`a/${domain}/api/form/v1/`, {
        subject: `The project space "${domain}"`,
        query: {
          xmlns,
          limit: some,
          offset: offset === 0 ? undefined : offset,
          order_by: 'indexed_on',
          indexed_on_start: start,
          include_archived: includeArchived || since !== undefined ? true : undefined,
        },
      }),
    )
    most = limit
    const records = parseList(answer, name, 'objects')
    const over =
      toText(parseObject(parseObject(answer, name)['meta'], name)['next']) === undefined || records.length === 0
    const fresh = records.filter((record) => !given.has(submissionKey(record)))
    const last = indexedAt(records.at(-1))
    if (last > latest) latest = last
    const next = over ? boundCursor(latest, { began: http.startedAt(), since, overlap: overlapSeconds }) : undefined
    yield { records: fresh, ...(next !== undefined && { cursor: next }) }
    if (over) return
    if (last === '' || last === start) {
      // A page cannot hold all submissions of this timestamp.
      offset += records.length
      for (const record of records) given.add(submissionKey(record))
    } else {
      start = last
      offset = 0
      given = new Set(records.filter((record) => indexedAt(record) === last).map(submissionKey))
    }
  }
}

const indexedAt = (record: unknown): string => toText((record as { indexed_on?: unknown } | null)?.indexed_on) ?? ''

const submissionKey = (record: unknown): string =>
  `${toText((record as { id?: unknown } | null)?.id)} ${indexedAt(record)}`

/**
 * Returns a submission without the artifacts of XML: attributes have the names of fields, unanswered questions are omitted, and a
 * repeat group is a list even if it occurs once. The XML metadata of the form is in `xform`.
 */
export function parseSubmission(record: unknown, form: CommCareForm | undefined): unknown {
  const answers = (record as { form?: unknown } | null)?.form
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers)) return record
  const {
    '@name': name,
    '@version': version,
    '@xmlns': xmlns,
    '@uiVersion': _,
    ...own
  } = answers as Record<string, unknown>
  return { ...(record as object), xform: { name, version, xmlns }, form: valueOf(own, '', form) }
}

function valueOf(value: unknown, path: string, form: CommCareForm | undefined): unknown {
  if (Array.isArray(value)) {
    const some = value.map((one) => valueOf(one, path, form))
    // A group without answers is an empty text.
    return form?.repeats.has(path) ? some.map((one) => (typeof one === 'object' ? one : {})) : some
  }
  if (typeof value === 'string' && form?.points.has(path)) return pointOf(value)
  if (typeof value !== 'object' || value === null) return value === '' ? undefined : value
  const fields: Record<string, unknown> = {}
  for (const [key, one] of Object.entries(value)) {
    if (key.startsWith('#')) continue
    const plain = key.replace(/^@/, '')
    const called = plain !== key && plain in value ? key : plain
    const at = path === '' ? plain : `${path}/${plain}`
    const shapedOne = valueOf(one, at, form)
    if (shapedOne === undefined) continue
    const single = form?.repeats.has(at) && typeof shapedOne === 'object' && !Array.isArray(shapedOne)
    fields[called] = single ? [shapedOne] : shapedOne
  }
  return fields
}

/** Parses `latitude longitude altitude accuracy`. */
function pointOf(text: string): object | undefined {
  const parts = text.trim().split(/\s+/).map(Number)
  const [latitude, longitude, altitude, accuracy] = parts
  const known = Object.entries({ latitude, longitude, altitude, accuracy }).filter(([, one]) => Number.isFinite(one))
  return text.trim() === '' ? undefined : Object.fromEntries(known)
}
