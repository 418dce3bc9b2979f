import type { Choice } from '../../reading.ts'
import { SourceProblem } from '../../source.ts'
import { fieldsOf, listIn, textOf } from '../http/answers.ts'
import {
  type Asking,
  type Page,
  type SettingsOf,
  type Stream,
  type System,
  demandSecret,
  overlapSeconds,
} from '../system.ts'
import { type Form, applicationsOf, formsOf } from './applications.ts'
import { forms, shaped } from './forms.ts'
import type { Http, Query } from '../http/connection.ts'
import { nextCursor } from '../tables/moments.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_B'>

const name = 'CommCare'

/** CommCare HQ: a table for each form, with its groups that repeat below it, and for each type of case. */
export const commcare: System<Settings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => moment,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    // People copy the address of their project space.
    url: url.replace(/\/a\/[^/?#]+.*$/, ''),
    without: ['api'],
    headers: { authorization: `ApiKey ${username}:${demandSecret(secrets, 'authToken', 'the API key of an account')}` },
  }),

  async test({ http, settings: { domain } }) {
    if (domain === undefined) listIn(await http.json('api/user_domains/v1/', { query: { limit: 1 } }), name, 'objects')
    else
      await http.json(`a/${domain}/api/application/v1/`, { query: { limit: 1 }, what: `The project space "${domain}"` })
  },

  lookup(kind, asking) {
    if (kind === 'domains') return domains(asking)
    if (kind === 'forms') return chosenForms(asking)
    return kind === 'case-types' ? caseTypes(asking) : undefined
  },

  async streams({ http, settings }) {
    const { domain, forms: chosen = [], caseTypes: types = [], includeArchived = false } = settings
    const known = chosen.length > 0 ? formsOf(await applicationsOf(http, domain)) : new Map<string, Form>()
    return [
      ...chosen.map((xmlns): Stream => {
        const form = known.get(xmlns)
        const title = titleOf(xmlns, form)
        const twice = chosen.filter((other) => titleOf(other, known.get(other)) === title).length > 1
        return {
          name: `form ${title}${twice ? ` ${lastOf(xmlns)}` : ''}`,
          key: ['id'],
          columns: [...ofSubmissions, ...(form?.columns ?? [])],
          // CommCare writes all answers as texts.
          textsMayBeAnything: true,
          whole: (path) => path === 'attachments',
          async *pages(cursor) {
            for await (const page of forms(http, { domain, xmlns, includeArchived }, cursor))
              yield { ...page, records: page.records.map((record) => shaped(record, form)) }
          },
        }
      }),
      ...types.map(
        (type): Stream => ({
          name: `case ${type}`,
          key: ['case_id'],
          columns: ofCases,
          textsMayBeAnything: true,
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

const titleOf = (xmlns: string, form: Form | undefined): string => form?.name ?? lastOf(xmlns)

async function domains({ http }: Asking): Promise<Choice[]> {
  const answer = await http.json('api/user_domains/v1/', { query: { limit: 1_000 } })
  return listIn(answer, name, 'objects').flatMap((one) => {
    const { domain_name: id, project_name: title } = fieldsOf(one, name)
    const known = textOf(id)
    return known === undefined ? [] : [{ id: known, code: known, name: textOf(title) ?? known }]
  })
}

async function chosenForms(asking: Asking<Settings>): Promise<Choice[]> {
  const known = formsOf(await applicationsOf(asking.http, domainOf(asking)))
  const found = [...known].map(([id, { place, code }]) => ({ id, code: code ?? id, name: place }))
  return found.toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
}

async function caseTypes(asking: Asking<Settings>): Promise<Choice[]> {
  const types = new Set<string>()
  for (const application of await applicationsOf(asking.http, domainOf(asking)))
    for (const { type } of application.modules) if (type !== undefined) types.add(type)
  return [...types].toSorted().map((type) => ({ id: type, code: type, name: type }))
}

function domainOf({ within, settings }: Asking<Settings>): string {
  const domain = within ?? settings.domain
  if (domain && /^[a-z0-9-]+$/.test(domain)) return domain
  throw new SourceProblem(
    'PROJECT_MISSING',
    'Forms and case types are looked up in a project space: choose one first, as the address of the project has it behind /a/.',
  )
}

const pageSize = 500

/** In the order in which the server took them in, from link to link. Closed ones are among them; deleted ones come no more. */
async function* cases(
  http: Http,
  { domain, type }: { domain: string; type: string },
  cursor: unknown,
): AsyncGenerator<Page, void, void> {
  const since = typeof cursor === 'string' ? cursor : undefined
  const what = `The project space "${domain}"`
  let latest = ''
  let path = `a/${domain}/api/case/v2/`
  let query: Query = { case_type: type, limit: pageSize, 'indexed_on.gte': since }
  for (;;) {
    const answer = await http.json(path, { what, query })
    const records = listIn(answer, name, 'cases')
    for (const record of records) {
      const moment = textOf((record as { indexed_on?: unknown } | null)?.indexed_on) ?? ''
      if (moment > latest) latest = moment
    }
    const next = textOf(fieldsOf(answer, name)['next'])
    const asOf = { began: http.began(), since, overlap: overlapSeconds }
    const from = next === undefined ? nextCursor(latest, asOf) : undefined
    yield { records, ...(from !== undefined && { cursor: from }) }
    if (next === undefined) return
    // The link holds all that was asked for.
    path = http.follow(next)
    query = {}
  }
}
