import type { SourceChoice } from '../connector.ts'
import { parseObject, parseList, createResponseProblem, toText } from '../http-connector/parse-response.ts'
import { basicAuthorization, type HttpSession } from '../http-connector/http-session.ts'
import { type SystemContext, type SettingsOf, type RecordStream, type HttpSystem, requireSecret } from '../http-connector/http-system.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'
import { requestFittingPage } from '../http-connector/paging.ts'

type ChtSettings = SettingsOf<'SOURCE_SYSTEM_F'>

const name = 'the Community Health Toolkit'

/**
 * Community Health Toolkit: one row for each report and contact, and a table with the contents for each form and each kind of
 * contact. All of them come from one changes feed, which is read once.
 */
export const cht: HttpSystem<ChtSettings> = {
  name,
  increments: () => true,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: ['v1', 'api', '_utils', 'medic'],
    headers: {
      authorization: basicAuthorization(username, requireSecret(secrets, 'password', 'the password of an account')),
    },
  }),

  async test({ http }) {
    const database = parseObject(await http.getJson('medic', { subject: 'The database "medic"' }), name)
    if (toText(database['db_name']) === undefined) throw createResponseProblem(name, 'a name of a database')
  },

  lookup: (kind, asking) => (kind === 'forms' ? listForms(asking) : undefined),

  async streams({ http, settings: { forms: codes, contacts = true } }) {
    const wanted: DocumentFilter = { forms: codes && new Set(codes), contacts }
    const stream: RecordStream = {
      name: 'documents',
      key: ['_id'],
      columns: [...systemColumns, ...(codes ?? []).map(columnOf)],
      // Forms write all answers as text.
      inferStrings: true,
      isStoredAsJson: (path) => path === '_attachments',
      async *pages(cursor) {
        let at: string | undefined
        for await (const { results, last } of readChanges(http, cursor)) {
          // A full read omits deleted documents.
          const found = results.map((result) => parseDocument(result, wanted, cursor !== undefined))
          const records = found.filter((record) => record !== undefined)
          at = last
          // The documents of a rare form are on few of many pages.
          if (records.length > 0) yield { records, cursor: at }
        }
        if (at !== undefined) yield { records: [], cursor: at }
      },
    }
    return stream
  },
}

const systemColumns: KnownColumn[] = [
  ...['_id', 'type', 'form', 'contact_type', 'name'].map((path) => ({ path, dataType: 'TEXT' as const })),
  { path: 'reported_date', dataType: 'TIMESTAMPTZ' },
  { path: 'deleted', dataType: 'BOOLEAN' },
]

/** The table of a selected form exists before its first report. */
const columnOf = (code: string): KnownColumn => ({
  path: 'reported_date',
  dataType: 'TIMESTAMPTZ',
  groups: [`report ${code}`],
})

/** Lists the forms for reports. The response also contains forms that create contacts. */
async function listForms({ http }: SystemContext): Promise<SourceChoice[]> {
  const files = parseList(await http.getJson('api/v1/forms'), name)
  const codes = files.flatMap((file) => (typeof file === 'string' ? [file.replace(/\.xml$/, '')] : []))
  const own = [...new Set(codes)].filter((code) => code !== '' && !code.startsWith('contact:'))
  return own.toSorted().map((code) => ({ id: code, code, name: code }))
}

const pageSize = 1_000

/** Reads the changes feed of CouchDB: each document once, in its current version, after an opaque sequence. */
async function* readChanges(
  http: HttpSession,
  cursor: unknown,
): AsyncGenerator<{ results: readonly unknown[]; last: string }, void, void> {
  let since = toText(cursor) ?? '0'
  let most = pageSize
  for (;;) {
    const from = since
    const { answer, limit } = await requestFittingPage(most, (some) =>
      http.getJson('medic/_changes', {
        subject: 'The feed of changes',
        query: { since: from, limit: some, include_docs: true, seq_interval: some },
      }),
    )
    most = limit
    const results = parseList(answer, 'CouchDB', 'results')
    const { last_seq: last, pending } = parseObject(answer, 'CouchDB')
    since = toText(last) ?? from
    // CouchDB can return different texts for the same sequence, so the cursor stays the same if the page is empty.
    if (results.length === 0) return
    yield { results, last: since }
    if (pending === 0 || since === from) return
  }
}

interface DocumentFilter {
  forms: ReadonlySet<string> | undefined
  contacts: boolean
}

type DocumentFields = Readonly<Record<string, unknown>>

/** Kinds of contacts of installations that do not configure their own. */
const contactTypes = new Set(['person', 'clinic', 'health_center', 'district_hospital'])

/**
 * Returns a row for a document, with the contents of the document as the only row of a group, so that each form and each kind
 * of contact gets its own table. Undefined for a document that is neither a report nor a contact, or that the settings
 * exclude. The type of a deleted document is unknown.
 */
function parseDocument(result: unknown, wanted: DocumentFilter, deleted: boolean): object | undefined {
  const { id, deleted: gone, doc } = (result ?? {}) as DocumentFields
  const key = toText(id)
  if (key === undefined || key.startsWith('_design/') || key.startsWith('org.couchdb.user:')) return undefined
  if (gone === true) return deleted ? { _id: key, deleted: true } : undefined
  if (typeof doc !== 'object' || doc === null) return undefined
  const kind = kindOf(doc as DocumentFields, wanted)
  if (kind === undefined) return undefined
  const { _id, _rev, type, form, contact_type, name, reported_date, ...own } = doc as DocumentFields
  const reported = parseTimestamp(reported_date)
  const named = kind.startsWith('contact') ? { name } : {}
  return {
    _id,
    type,
    form,
    contact_type,
    ...named,
    reported_date: reported,
    deleted: false,
    [kind]: [{ reported_date: reported, ...(name !== undefined && { name }), ...omitEmptyAnswers(own) }],
  }
}

function kindOf(
  { type, form, contact_type: contactType }: DocumentFields,
  { forms, contacts }: DocumentFilter,
): string | undefined {
  if (type === 'data_record') {
    const code = toText(form)
    return code !== undefined && (forms?.has(code) ?? true) ? `report ${code}` : undefined
  }
  const kind = type === 'contact' ? toText(contactType) : contactTypes.has(String(type)) ? String(type) : undefined
  return contacts && kind !== undefined ? `contact ${kind}` : undefined
}

/** Converts milliseconds since 1970 to a timestamp. */
function parseTimestamp(value: unknown): unknown {
  const time = typeof value === 'string' && /^\d{11,14}$/.test(value) ? Number(value) : value
  return typeof time === 'number' && Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : value
}

/** Omits unanswered questions, which are empty strings. */
function omitEmptyAnswers(value: unknown): object {
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([key, one]): [string, unknown][] => {
      if (one === '') return []
      return [[key, isFields(one) ? omitEmptyAnswers(one) : one]]
    }),
  )
}

const isFields = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
