import type { Choice } from '../../reading.ts'
import { SourceProblem } from '../../source.ts'
import { fieldsOf, listIn, strange, textOf } from '../http/answers.ts'
import { type Asking, demandSecret, type SettingsOf, type Stream, type System } from '../system.ts'
import { formOf } from './form.ts'
import { shaped } from './submission.ts'
import { submissions } from './submissions.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_G'>

const name = 'ODK Central'

/** ODK Central: the submissions of one form, and its groups that repeat as tables below. */
export const odk: System<Settings> = {
  name,
  increments: () => true,
  cursorAt: (moment) => moment,

  connect({ apiSource: { url, username } }, secrets) {
    const password = demandSecret(secrets, 'password', 'the password of an account')
    return {
      url,
      without: ['v1'],
      // By a session, since Central takes names and passwords over HTTPS only.
      async signIn(http) {
        const body = { email: username, password }
        const session = await http.json('v1/sessions', { method: 'POST', body, repeatable: true })
        const token = textOf(fieldsOf(session, name)['token'])
        if (token === undefined) throw strange(name, 'a token')
        return { authorization: `Bearer ${token}` }
      },
      // Else it lasts a day, and every run adds one.
      signOut: (http, { authorization = '' }) =>
        http.json(`v1/sessions/${encodeURIComponent(authorization.replace('Bearer ', ''))}`, { method: 'DELETE' }),
    }
  },

  async test({ http, settings: { project, form } }) {
    listIn(await http.json('v1/projects'), name)
    if (project !== undefined && form !== undefined) await formOf(http, project, form)
  },

  lookup(kind, asking) {
    if (kind === 'projects') return projects(asking)
    return kind === 'forms' ? forms(asking) : undefined
  },

  async streams({ http, settings, log }) {
    const { project, form, includeDeleted = false } = settings
    const stream: Stream = {
      name: form,
      key: ['__id'],
      columns: await formOf(http, project, form),
      // The form says which answers are texts; dates come as texts, and are what their values are.
      textsMayBeAnything: true,
      async *pages(cursor) {
        for await (const page of submissions(http, { project, form, includeDeleted, log }, cursor))
          yield { ...page, records: page.records.map(shaped) }
      },
    }
    return stream
  },
}

async function projects({ http }: Asking): Promise<Choice[]> {
  const found = listIn(await http.json('v1/projects'), name).flatMap((one) => {
    const { id, name: title, archived } = fieldsOf(one, name)
    const known = textOf(id)
    return known === undefined || archived === true ? [] : [{ id: known, code: known, name: textOf(title) ?? known }]
  })
  return found.toSorted(byName)
}

/** Forms that were published, of one project. */
async function forms({ http, within, settings }: Asking<Settings>): Promise<Choice[]> {
  const project = within ?? settings.project
  if (!project)
    throw new SourceProblem('PROJECT_MISSING', 'Forms are looked up in a project: choose one first, or say its number.')
  const asked = await http.json(`v1/projects/${encodeURIComponent(project)}/forms`, { what: `The project ${project}` })
  const found = listIn(asked, name).flatMap((one) => {
    const { xmlFormId, name: title, publishedAt } = fieldsOf(one, name)
    const id = textOf(xmlFormId)
    return id === undefined || publishedAt === null ? [] : [{ id, code: id, name: textOf(title) ?? id }]
  })
  return found.toSorted(byName)
}

const byName = (one: Choice, other: Choice): number => one.name.localeCompare(other.name, 'en')
