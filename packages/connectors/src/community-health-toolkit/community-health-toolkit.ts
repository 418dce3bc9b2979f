import type { connectorTypes } from '@sluice/contracts/connector-types'
import { declareColumns, type KnownColumn } from '../http-connector/declared-column.ts'
import { createOption, parseText, parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { SourceOption } from '../connector.ts'
import { formatBasicAuthorization, type HttpSession } from '../http-connector/http-session.ts'
import { type SystemContext, type SettingsOf, type HttpSystem, requireSecret } from '../http-connector/http-system.ts'
import { requestFittingPage } from '../http-connector/paging.ts'

type ChtSettings = SettingsOf<typeof connectorTypes.communityHealthToolkit>

const chtName = 'the Community Health Toolkit'

/**
 * Reads the Community Health Toolkit (CHT). The pipeline's own table has one row per report and contact. Each form and
 * each kind of contact has a further table with its contents. All rows come from CouchDB's changes feed, which is read
 * once.
 */
export const communityHealthToolkit: HttpSystem<ChtSettings> = {
  name: chtName,
  canReadIncrement: () => true,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: ['v1', 'api', '_utils', 'medic'],
    headers: {
      authorization: formatBasicAuthorization(
        username,
        requireSecret(secrets, 'password', 'the password of an account'),
      ),
    },
  }),

  async testConnection({ http }) {
    parseText(await http.getJson('medic', { subject: 'The database "medic"' }), chtName, 'db_name')
  },

  listOptions: (kind, context) => (kind === 'forms' ? listForms(context) : undefined),

  async openStreams({ http, settings: { forms: codes, contacts = true } }) {
    const filter: DocumentFilter = { forms: codes && new Set(codes), includesContacts: contacts }
    return {
      name: 'documents',
      key: ['_id'],
      columns: [...documentColumns, ...(codes ?? []).map(createReportColumn)],
      // Forms store all answers as text, so types are inferred from texts.
      inferStrings: true,
      isStoredAsJson: (path) => path === '_attachments',
      async *readPages(cursor) {
        let lastSequence: string | undefined
        for await (const { changes, sequence } of readChanges(http, cursor)) {
          // Only increments include deleted documents, so that their rows can be removed; a full read leaves them out.
          const includeDeleted = cursor !== undefined
          const records = changes
            .map((change) => parseChange(change, filter, includeDeleted))
            .filter((record) => record !== undefined)
          lastSequence = sequence
          // Pages without selected documents are not yielded, because a rare form can be missing on many consecutive
          // pages.
          if (records.length > 0) yield { records, cursor: sequence }
        }
        if (lastSequence !== undefined) yield { records: [], cursor: lastSequence }
      },
    }
  },
}

const documentColumns: KnownColumn[] = [
  ...declareColumns('TEXT', ['_id', 'type', 'form', 'contact_type', 'name']),
  { path: 'reported_date', dataType: 'TIMESTAMPTZ' },
  { path: 'deleted', dataType: 'BOOLEAN' },
]

/** Declares a column of a selected form. This creates the form's table even before its first report. */
const createReportColumn = (code: string): KnownColumn => ({
  path: 'reported_date',
  dataType: 'TIMESTAMPTZ',
  groups: [`report ${code}`],
})

/** Lists the forms of reports. Leaves out forms that create contacts, which the API also returns. */
async function listForms({ http }: SystemContext): Promise<SourceOption[]> {
  const files = parseList(await http.getJson('api/v1/forms'), chtName)
  const codes = files.flatMap((file) => (typeof file === 'string' ? [file.replace(/\.xml$/, '')] : []))
  const reportCodes = [...new Set(codes)].filter((code) => !code.startsWith('contact:'))
  return reportCodes.toSorted().flatMap((code) => createOption(code, {}))
}

const maxChangesPerPage = 1_000

/**
 * Reads CouchDB's changes feed from the sequence number in `cursor`. The feed contains each document once, in its
 * current version.
 */
async function* readChanges(
  http: HttpSession,
  cursor: unknown,
): AsyncGenerator<{ changes: readonly unknown[]; sequence: string }, void, void> {
  let since = toText(cursor) ?? '0'
  let limit = maxChangesPerPage
  for (;;) {
    const { page, pageSize } = await requestFittingPage(limit, (size) =>
      http.getJson('medic/_changes', {
        subject: 'The changes feed',
        // Computing sequence numbers is slow. `seq_interval` makes CouchDB compute only one per page.
        query: { since, limit: size, include_docs: true, seq_interval: size },
      }),
    )
    limit = pageSize
    const changes = parseList(page, 'CouchDB', 'results')
    const { last_seq: lastSequence, pending } = parseObject(page, 'CouchDB')
    const sequence = toText(lastSequence) ?? since
    // CouchDB can return different texts for the same sequence number. So an empty page keeps the cursor unchanged.
    if (changes.length === 0) return
    yield { changes, sequence }
    if (pending === 0 || sequence === since) return
    since = sequence
  }
}

interface DocumentFilter {
  /** The codes of the forms to read. Undefined for all forms. */
  forms: ReadonlySet<string> | undefined
  includesContacts: boolean
}

type DocumentFields = Readonly<Record<string, unknown>>

/** CHT's default kinds of contacts, for installations that do not configure their own. */
const defaultContactTypes = new Set(['person', 'clinic', 'health_center', 'district_hospital'])

/**
 * Converts a change of a document to a record. The contents of the document are in a list with one item, under a name
 * such as `report pregnancy`, because each form and kind of contact becomes a child table. Returns undefined if the
 * document is neither a report nor a contact, or if the settings exclude it.
 */
function parseChange(change: unknown, filter: DocumentFilter, includeDeleted: boolean): object | undefined {
  const { id, deleted, doc: document } = (change ?? {}) as DocumentFields
  const documentId = toText(id)
  const isInternal = documentId?.startsWith('_design/') || documentId?.startsWith('org.couchdb.user:')
  if (documentId === undefined || isInternal) return undefined
  if (deleted === true) return includeDeleted ? { _id: documentId, deleted: true } : undefined
  if (typeof document !== 'object' || document === null) return undefined
  const childTable = findChildTable(document as DocumentFields, filter)
  if (childTable === undefined) return undefined
  const { _id, _rev, type, form, contact_type, name, reported_date, ...contents } = document as DocumentFields
  const reportedDate = parseTimestamp(reported_date)
  const childRow = {
    reported_date: reportedDate,
    ...(name !== undefined && { name }),
    ...omitEmptyAnswers(contents),
  }
  return {
    _id,
    type,
    form,
    contact_type,
    ...(childTable.startsWith('contact') && { name }),
    reported_date: reportedDate,
    deleted: false,
    [childTable]: [childRow],
  }
}

/**
 * Returns the name of the child table for a document, such as `report pregnancy` or `contact person`. Returns undefined
 * if it is neither a report nor a contact, or if the settings exclude it.
 */
function findChildTable(
  { type, form, contact_type: contactType }: DocumentFields,
  { forms, includesContacts }: DocumentFilter,
): string | undefined {
  if (type === 'data_record') {
    const code = toText(form)
    if (code === undefined) return undefined
    const isSelected = forms === undefined || forms.has(code)
    return isSelected ? `report ${code}` : undefined
  }
  if (!includesContacts) return undefined
  if (type === 'contact') {
    const configuredType = toText(contactType)
    return configuredType === undefined ? undefined : `contact ${configuredType}`
  }
  return typeof type === 'string' && defaultContactTypes.has(type) ? `contact ${type}` : undefined
}

/** The largest time that a JavaScript `Date` can hold, in milliseconds since 1970. */
const maxDateTime = 8.64e15

/** Converts milliseconds since 1970 to an ISO timestamp. Returns other values unchanged. */
function parseTimestamp(value: unknown): unknown {
  const time = typeof value === 'string' && /^\d{11,14}$/.test(value) ? Number(value) : value
  const isValidTime = typeof time === 'number' && Math.abs(time) < maxDateTime
  return isValidTime ? new Date(time).toISOString() : value
}

/** Removes unanswered questions, which have an empty string as the answer, at all levels of nesting. */
function omitEmptyAnswers(value: unknown): object {
  const answers = Object.entries(value as Record<string, unknown>).filter(([, answer]) => answer !== '')
  return Object.fromEntries(
    answers.map(([key, answer]) => [key, isPlainObject(answer) ? omitEmptyAnswers(answer) : answer]),
  )
}

const isPlainObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
