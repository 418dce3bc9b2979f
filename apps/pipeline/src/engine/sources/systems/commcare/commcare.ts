import type { Choice } from '../../reading.ts'
import { SourceProblem } from '../../source.ts'
import { fieldsOf, listIn, textOf } from '../http/answers.ts'
import { type Asking, demandSecret, type SettingsOf, type Stream, type System } from '../system.ts'
import { applicationsOf, type Form, formsOf } from './applications.ts'
import { cases } from './cases.ts'
import { shaped } from './form.ts'
import { forms } from './forms.ts'

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
