import type { Choice } from '../../reading.ts'
import { fieldsOf, listIn, strange, textOf } from '../http/answers.ts'
import { type Asking, demandSecret, type SettingsOf, type Stream, type System } from '../system.ts'
import { jsonRecords } from '../tables/json-records.ts'
import { monthsOf } from './months.ts'
import { type Resource, resources } from './resources.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_A'>

const name = 'BHIMA'

/** BHIMA: a table for each resource of one project, which is a facility. The API tells of nothing when it was changed. */
export const bhima: System<Settings> = {
  name,

  connect({ apiSource: { url, username }, project }, secrets) {
    const password = demandSecret(secrets, 'password', 'the password of an account')
    return {
      url,
      async signIn(http): Promise<Readonly<Record<string, string>>> {
        // Which projects there are is said before anybody signs in to one.
        if (project === undefined) return {}
        const body = { username, password, project: Number(project) }
        const session = await http.json('auth/login', { method: 'POST', body, repeatable: true })
        const token = textOf(fieldsOf(session, name)['token'])
        if (token === undefined) throw strange(name, 'a token')
        return { 'x-access-token': token }
      },
    }
  },

  async test(asking) {
    await projects(asking)
  },

  lookup: (kind, asking) => (kind === 'projects' ? projects(asking) : undefined),

  async streams({ http, settings }) {
    return settings.resources.map((kind): Stream => {
      const resource: Resource = resources[kind]
      return {
        name: kind.toLowerCase(),
        key: resource.key,
        columns: resource.columns,
        // Moments are texts in JSON.
        textsMayBeAnything: true,
        async *pages() {
          for (const { start, end } of resource.days ? monthsOf(settings) : [{}]) {
            const days = resource.days ? { [resource.days[0]]: start, [resource.days[1]]: end } : {}
            const ofProject = resource.byProject ? { project_id: settings.project } : {}
            // A list has no pages: it goes to disk, and is taken from there.
            using list = await http.download(resource.path, {
              what: resource.path,
              query: { ...resource.query, ...ofProject, ...days },
            })
            for await (const records of jsonRecords(list.chunks(), { system: name })) {
              const own = records.filter((record) => isOf(record, settings.project))
              if (own.length > 0) yield { records: own }
            }
          }
        },
      }
    })
  },
}

/** What says of what project it is, and is of another one, is not loaded: some lists have all that the account may see. */
function isOf(record: unknown, project: string): boolean {
  const own = textOf((record as { project_id?: unknown } | null)?.project_id)
  return own === undefined || own === project
}

async function projects({ http, settings: { project } }: Asking<Settings>): Promise<Choice[]> {
  const query = { complete: project === undefined ? undefined : 1 }
  return listIn(await http.json('projects', { query }), name).flatMap((one) => {
    const { id, abbr, name: title } = fieldsOf(one, name)
    const known = textOf(id)
    return known === undefined ? [] : [{ id: known, code: textOf(abbr) ?? known, name: textOf(title) ?? known }]
  })
}
