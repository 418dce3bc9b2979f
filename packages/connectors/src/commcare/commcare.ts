import type { SourceChoice } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import { parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import { type SystemContext, type RecordPage, type SettingsOf, type RecordStream, type HttpSystem, requireSecret, overlapSeconds } from '../http-connector/http-system.ts'
import { type CommCareForm, applicationsOf, formsOf } from './applications.ts'
import { readForms, parseSubmission } from './forms.ts'
import type { HttpSession, QueryParameters } from '../http-connector/http-session.ts'
import { boundCursor } from '../http-connector/paging.ts'

type CommCareSettings = SettingsOf<'SOURCE_SYSTEM_B'>

const name = 'CommCare'

/** CommCare HQ: a table for each form, with its repeat groups as child tables, and a table for each case type. */
export const commcare: HttpSystem<CommCareSettings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => moment,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    // Users copy the address of their project space.
    url: url.replace(/\/a\/[^/?#]+.*$/, ''),
    ignoredSegments: ['api'],
    headers: {
      authorization: `ApiKey ${username}:${requireSecret(secrets, 'authToken', 'the API key of an account')}`,
    },
  }),

  async test({ http, settings: { domain } }) {
    if (domain === undefined)
      parseList(await http.getJson('api/user_domains/v1/', { query: { limit: 1 } }), name, 'objects')
    else
      await http.getJson(`a/${domain}/api/application/v1/`, {
        query: { limit: 1 },
        subject: `The project space "${domain}"`,
      })
  },

  lookup(kind, asking) {
    if (kind === 'domains') return domains(asking)
    if (kind === 'forms') return chosenForms(asking)
    return kind === 'case-types' ? caseTypes(asking) : undefined
  },

  async streams({ http, settings }) {
    const { domain, forms: chosen = [], caseTypes: types = [], includeArchived = false } = settings
    const known = chosen.length > 0 ? formsOf(await applicationsOf(http, domain)) : new Map<string, CommCareForm>()
    return [
      ...chosen.map((xmlns): RecordStream => {
        const form = known.get(xmlns)
        const title = titleOf(xmlns, form)
        const twice = chosen.filter((other) => titleOf(other, known.get(other)) === title).length > 1
        return {
          name: `form ${title}${twice ? ` ${lastOf(xmlns)}` : ''}`,
          key: ['id'],
          columns: [...ofSubmissions, ...(form?.columns ?? [])],
          // CommCare writes all answers as text.
          inferStrings: true,
          isStoredAsJson: (path) => path === 'attachments',
          async *pages(cursor) {
            for await (const page of readForms(http, { domain, xmlns, includeArchived }, cursor))
              yield { ...page, records: page.records.map((record) => parseSubmission(record, form)) }
          },
        }
      }),
      ...types.map(
        (type): RecordStream => ({
          name: `case ${type}`,
          key: ['case_id'],
          columns: ofCases,
          inferStrings: true,
          pages: (cursor) => cases(http, { domain, type }, cursor),
        }),
      ),
    ]
  },
}

const ofSubmissions = ['id', 'app_id', 'domain', 'form.meta.userID', 'form.meta.username', 'form.case.case_id'].map(
  (path) => ({ path, dataType: 'TEXT' as const }),
)
const ofCases = ['case_id', 'case_type', 'case_name', 'external_id', 'owner_id', 'domain'].map((path) => ({
  path,
  dataType: 'TEXT' as const,
}))

const lastOf = (xmlns: string): string => xmlns.split('/').findLast((part) => part !== '') ?? xmlns

const titleOf = (xmlns: string, form: CommCareForm | undefined): string => form?.name ?? lastOf(xmlns)

async function domains({ http }: SystemContext): Promise<SourceChoice[]> {
  const answer = await http.getJson('api/user_domains/v1/', { query: { limit: 1_000 } })
  return parseList(answer, name, 'objects').flatMap((one) => {
    const { domain_name: id, project_name: title } = parseObject(one, name)
    const known = toText(id)
    return known === undefined ? [] : [{ id: known, code: known, name: toText(title) ?? known }]
  })
}

async function chosenForms(asking: SystemContext<CommCareSettings>): Promise<SourceChoice[]> {
  const known = formsOf(await applicationsOf(asking.http, domainOf(asking)))
  const found = [...known].map(([id, { place, code }]) => ({ id, code: code ?? id, name: place }))
  return found.toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
}

async function caseTypes(asking: SystemContext<CommCareSettings>): Promise<SourceChoice[]> {
  const types = new Set<string>()
  for (const application of await applicationsOf(asking.http, domainOf(asking)))
    for (const { type } of application.modules) if (type !== undefined) types.add(type)
  return [...types].toSorted().map((type) => ({ id: type, code: type, name: type }))
}

function domainOf({ within, settings }: SystemContext<CommCareSettings>): string {
  const domain = within ?? settings.domain
  if (domain && /^[a-z0-9-]+$/.test(domain)) return domain
  throw new SourceProblem(
    'PROJECT_MISSING',
    'Forms and case types are looked up in a project space: choose one first, as the address of the project has it behind /a/.',
  )
}

const pageSize = 500

/**
 * Reads cases in the order in which the server received them, and follows the links to the next pages. Closed cases are
 * included; the API omits deleted cases.
 */
async function* cases(
  http: HttpSession,
  { domain, type }: { domain: string; type: string },
  cursor: unknown,
): AsyncGenerator<RecordPage, void, void> {
  const since = typeof cursor === 'string' ? cursor : undefined
  const what = `The project space "${domain}"`
  let latest = ''
  let path = `a/${domain}/api/case/v2/`
  let query: QueryParameters = { case_type: type, limit: pageSize, 'indexed_on.gte': since }
  for (;;) {
    const answer = await http.getJson(path, { subject: what, query })
    const records = parseList(answer, name, 'cases')
    for (const record of records) {
      const moment = toText((record as { indexed_on?: unknown } | null)?.indexed_on) ?? ''
      if (moment > latest) latest = moment
    }
    const next = toText(parseObject(answer, name)['next'])
    const asOf = { began: http.startedAt(), since, overlap: overlapSeconds }
    const from = next === undefined ? boundCursor(latest, asOf) : undefined
    yield { records, ...(from !== undefined && { cursor: from }) }
    if (next === undefined) return
    // The link contains all parameters of the query.
    path = http.resolveLink(next)
    query = {}
  }
}
