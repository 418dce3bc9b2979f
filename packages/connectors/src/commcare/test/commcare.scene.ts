import { startCommcare, visit } from './commcare-server.ts'
import type { Account, Scene } from '../../../test/scene.ts'

const lookups = {
  domains: ['demo-project'],
  forms: [visit, 'http://openrosa.org/formdesigner/stock'],
  'case-types': ['depot', 'pregnancy'],
}

/** With what is not of every source: whom to archive. */
export async function standIn(own: object, page: string) {
  const { username, ...started } = await startCommcare()
  const apiSource = { url: `${started.server.url}/a/demo-project/`, username }
  return {
    ...started,
    ...(page.startsWith('/form') && {
      remove(id: number, at: number) {
        started.archived.add(id)
        started.people.put({ id }, at)
      },
    }),
    settings: { type: 'SOURCE_SYSTEM_B', apiSource, domain: 'demo-project', ...own },
    isPage: ({ path }: { path: string }) => path.endsWith(page),
  }
}

const account = (kind: 'forms' | 'caseTypes', variable: string): Account => ({
  variables: ['SLUICE_COMMCARE_URL', 'SLUICE_COMMCARE_USER', 'SLUICE_COMMCARE_KEY', 'SLUICE_COMMCARE_DOMAIN', variable],
  settings: (values) => ({
    type: 'SOURCE_SYSTEM_B',
    apiSource: { url: values['SLUICE_COMMCARE_URL'], username: values['SLUICE_COMMCARE_USER'] },
    domain: values['SLUICE_COMMCARE_DOMAIN'],
    [kind]: [values[variable]],
  }),
  secrets: (values) => ({ authToken: values['SLUICE_COMMCARE_KEY']! }),
})

export const commcareForms: Scene = {
  type: 'SOURCE_SYSTEM_B',
  system: 'CommCare (forms)',
  without: {},
  columns: { id: 'id', name: 'form_name', extra: 'form_extra' },
  marked: 'archived',
  table: '__form_visit',
  group: { table: '__form_child', column: 'called' },
  lookups,
  start: () => standIn({ forms: [visit] }, '/form/v1/'),
  account: account('forms', 'SLUICE_COMMCARE_XMLNS'),
}

export const commcareCases: Scene = {
  type: 'SOURCE_SYSTEM_B',
  system: 'CommCare (cases)',
  without: { groups: 'A case contains no lists.' },
  columns: { id: 'case_id', name: 'case_name', extra: 'properties_extra' },
  table: '__case_pregnancy',
  lookups,
  start: () => standIn({ caseTypes: ['pregnancy'] }, '/case/v2/'),
  account: account('caseTypes', 'SLUICE_COMMCARE_CASE_TYPE'),
}
