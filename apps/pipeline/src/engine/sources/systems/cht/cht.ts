import type { Choice } from '../../reading.ts'
import { fieldsOf, listIn, strange, textOf } from '../http/answers.ts'
import { basicAuthorization } from '../../../basic-authorization.ts'
import { type Asking, demandSecret, type SettingsOf, type Stream, type System } from '../system.ts'
import type { KnownColumn } from '../tables/table-spool.ts'
import { changes } from './changes.ts'
import { documentOf, type Wanted } from './document.ts'

type Settings = SettingsOf<'SOURCE_SYSTEM_F'>

const name = 'the Community Health Toolkit'

/**
 * Community Health Toolkit: one row for each report and contact, and a table for each form and kind of contact with what is in them. All
 * of it is in one feed of changes, which is read once.
 */
export const cht: System<Settings> = {
  name,
  increments: () => true,

  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    without: ['v1', 'api', '_utils', 'medic'],
    headers: {
      authorization: basicAuthorization(username, demandSecret(secrets, 'password', 'the password of an account')),
    },
  }),

  async test({ http }) {
    const database = fieldsOf(await http.json('medic', { what: 'The database "medic"' }), name)
    if (textOf(database['db_name']) === undefined) throw strange(name, 'a name of a database')
  },

  lookup: (kind, asking) => (kind === 'forms' ? forms(asking) : undefined),

  async streams({ http, settings: { forms: codes, contacts = true } }) {
    const wanted: Wanted = { forms: codes && new Set(codes), contacts }
    const stream: Stream = {
      name: 'documents',
      key: ['_id'],
      columns: [...always, ...(codes ?? []).map(columnOf)],
      // Forms write all answers as texts.
      textsMayBeAnything: true,
      whole: (path) => path === '_attachments',
      async *pages(cursor) {
        let at: string | undefined
        for await (const { results, last } of changes(http, cursor)) {
          // In a full reading, what is gone was never there.
          const found = results.map((result) => documentOf(result, wanted, cursor !== undefined))
          const records = found.filter((record) => record !== undefined)
          at = last
          // A form that is rare is on few of very many pages.
          if (records.length > 0) yield { records, cursor: at }
        }
        if (at !== undefined) yield { records: [], cursor: at }
      },
    }
    return stream
  },
}

const always: KnownColumn[] = [
  ...['_id', 'type', 'form', 'contact_type', 'name'].map((path) => ({ path, dataType: 'TEXT' as const })),
  { path: 'reported_date', dataType: 'TIMESTAMPTZ' },
  { path: 'deleted', dataType: 'BOOLEAN' },
]

/** The table of a form that is chosen is there before its first report. */
const columnOf = (code: string): KnownColumn => ({
  path: 'reported_date',
  dataType: 'TIMESTAMPTZ',
  groups: [`report ${code}`],
})

/** Forms for reports: those for making contacts are among the files, too. */
async function forms({ http }: Asking): Promise<Choice[]> {
  const files = listIn(await http.json('api/v1/forms'), name)
  const codes = files.flatMap((file) => (typeof file === 'string' ? [file.replace(/\.xml$/, '')] : []))
  const own = [...new Set(codes)].filter((code) => code !== '' && !code.startsWith('contact:'))
  return own.toSorted().map((code) => ({ id: code, code, name: code }))
}
