import type { connectorTypes } from '@sluice/contracts/connector-types'
import { compareNames, createOption, parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import { declareColumns } from '../http-connector/declared-column.ts'
import type { SourceOption } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import {
  type SystemContext,
  type RecordPage,
  type SettingsOf,
  type RecordStream,
  type HttpSystem,
  requireSecret,
} from '../http-connector/http-system.ts'
import { commCareName, type CommCareForm, listApplications, listForms } from './applications.ts'
import { getIndexedOn, parseSubmission, readForms } from './form-submissions.ts'
import type { HttpSession, QueryParameters } from '../http-connector/http-session.ts'
import { createNextCursor } from '../http-connector/paging.ts'

type CommCareSettings = SettingsOf<typeof connectorTypes.commcare>

/**
 * Reads CommCare HQ. Each form becomes a table, each repeat group of a form a child table, and each case type a table.
 */
export const commcare: HttpSystem<CommCareSettings> = {
  name: commCareName,
  canReadIncrement: () => true,
  createCursor: (moment) => moment,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    // Users often copy the address of their project space from the browser, so the path from `/a/` on is removed.
    url: url.replace(/\/a\/[^/?#]+.*$/, ''),
    ignoredSegments: ['api'],
    headers: {
      authorization: `ApiKey ${username}:${requireSecret(secrets, 'authToken', 'the API key of an account')}`,
    },
  }),

  async testConnection({ http, settings: { domain } }) {
    if (domain === undefined)
      parseList(await http.getJson('api/user_domains/v1/', { query: { limit: 1 } }), commCareName, 'objects')
    else
      await http.getJson(`a/${domain}/api/application/v1/`, {
        query: { limit: 1 },
        subject: `The project space "${domain}"`,
      })
  },

  listOptions(kind, context) {
    if (kind === 'domains') return listDomains(context)
    if (kind === 'forms') return listFormOptions(context)
    return kind === 'case-types' ? listCaseTypes(context) : undefined
  },

  async openStreams({ http, settings }) {
    const { domain, forms: xmlnsList = [], caseTypes = [], includeArchived = false } = settings
    const forms =
      xmlnsList.length > 0 ? listForms(await listApplications(http, domain)) : new Map<string, CommCareForm>()
    const getTitle = (xmlns: string) => forms.get(xmlns)?.name ?? getLastSegment(xmlns)
    return [
      ...xmlnsList.map((xmlns): RecordStream => {
        const form = forms.get(xmlns)
        const title = getTitle(xmlns)
        const isUnique = xmlnsList.filter((other) => getTitle(other) === title).length === 1
        return {
          name: isUnique ? `form ${title}` : `form ${title} ${getLastSegment(xmlns)}`,
          key: ['id'],
          columns: [...submissionColumns, ...(form?.columns ?? [])],
          // CommCare returns all answers as text, so types are inferred from texts.
          inferStrings: true,
          isStoredAsJson: (path) => path === 'attachments',
          async *readPages(cursor) {
            for await (const page of readForms(http, { domain, xmlns, includeArchived }, toText(cursor)))
              yield { ...page, records: page.records.map((record) => parseSubmission(record, form)) }
          },
        }
      }),
      ...caseTypes.map(
        (type): RecordStream => ({
          name: `case ${type}`,
          key: ['case_id'],
          columns: caseColumns,
          inferStrings: true,
          readPages: (cursor) => readCases(http, { domain, type }, toText(cursor)),
        }),
      ),
    ]
  },
}

const submissionColumns = declareColumns('TEXT', [
  'id',
  'app_id',
  'domain',
  'form.meta.userID',
  'form.meta.username',
  'form.case.case_id',
])
const caseColumns = declareColumns('TEXT', ['case_id', 'case_type', 'case_name', 'external_id', 'owner_id', 'domain'])

const getLastSegment = (xmlns: string): string => xmlns.split('/').findLast((part) => part !== '') ?? xmlns

async function listDomains({ http }: SystemContext): Promise<SourceOption[]> {
  const response = await http.getJson('api/user_domains/v1/', { query: { limit: 1_000 } })
  return parseList(response, commCareName, 'objects').flatMap((item) => {
    const { domain_name: id, project_name: title } = parseObject(item, commCareName)
    return createOption(id, { name: title })
  })
}

async function listFormOptions(context: SystemContext<CommCareSettings>): Promise<SourceOption[]> {
  const forms = listForms(await listApplications(context.http, getDomain(context)))
  return [...forms]
    .flatMap(([id, { menuPath, code }]) => createOption(id, { code, name: menuPath }))
    .toSorted(compareNames)
}

async function listCaseTypes(context: SystemContext<CommCareSettings>): Promise<SourceOption[]> {
  const applications = await listApplications(context.http, getDomain(context))
  const types = new Set(applications.flatMap(({ modules }) => modules.map(({ caseType }) => caseType)))
  return [...types].toSorted().flatMap((type) => createOption(type, {}))
}

function getDomain({ within, settings }: SystemContext<CommCareSettings>): string {
  const domain = within ?? settings.domain
  if (domain && /^[a-z0-9-]+$/.test(domain)) return domain
  throw new SourceProblem(
    'PROJECT_MISSING',
    'Select a project space first, because forms and case types belong to one. Its name follows /a/ in the address of the project space.',
  )
}

const casesPerPage = 500

/**
 * Yields the cases of a type, page by page, in the order in which CommCare received them. Includes closed cases. The
 * API leaves out deleted cases. The last page has the cursor of the next increment.
 */
async function* readCases(
  http: HttpSession,
  { domain, type }: { domain: string; type: string },
  since: string | undefined,
): AsyncGenerator<RecordPage, void, void> {
  let latestIndexedOn = ''
  let path = `a/${domain}/api/case/v2/`
  let query: QueryParameters = { case_type: type, limit: casesPerPage, 'indexed_on.gte': since }
  for (;;) {
    const response = await http.getJson(path, { subject: `The project space "${domain}"`, query })
    const records = parseList(response, commCareName, 'cases')
    for (const record of records) {
      const indexedOn = getIndexedOn(record)
      if (indexedOn > latestIndexedOn) latestIndexedOn = indexedOn
    }
    const nextLink = toText(parseObject(response, commCareName)['next'])
    if (nextLink === undefined) {
      yield { records, cursor: createNextCursor(latestIndexedOn, http.startedAt(), since) }
      return
    }
    yield { records }
    // The link already contains all query parameters.
    path = http.resolveLink(nextLink)
    query = {}
  }
}
