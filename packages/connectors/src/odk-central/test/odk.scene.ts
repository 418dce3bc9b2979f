import { startOdk } from './odk-server.ts'
import type { Scene } from '../../../test/scene.ts'

export const odk: Scene = {
  type: 'SOURCE_SYSTEM_G',
  system: 'ODK Central',
  without: {},
  columns: { id: '_id', name: 'demo_name', extra: 'extra' },
  marked: '_system_deleted_at',
  group: { table: '__home_child', column: 'called' },
  lookups: { projects: ['7', '9'], forms: ['household survey'] },
  start: () => standIn(),
  account: {
    variables: ['SLUICE_ODK_URL', 'SLUICE_ODK_USER', 'SLUICE_ODK_PASSWORD', 'SLUICE_ODK_PROJECT', 'SLUICE_ODK_FORM'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_G',
      apiSource: { url: values['SLUICE_ODK_URL'], username: values['SLUICE_ODK_USER'] },
      project: values['SLUICE_ODK_PROJECT'],
      form: values['SLUICE_ODK_FORM'],
    }),
    secrets: (values) => ({ password: values['SLUICE_ODK_PASSWORD']! }),
  },
}

/** With what is not of every source: whom to delete. */
export async function standIn(own: object = {}) {
  const { username, ...started } = await startOdk()
  const apiSource = { url: `${started.server.url}/v1/`, username }
  return {
    ...started,
    remove: (id: number, at: number) => void started.deleted.set(id, at),
    settings: { type: 'SOURCE_SYSTEM_G', apiSource, project: '7', form: 'household survey', ...own },
    isPage: ({ path }: { path: string }) => path.endsWith('/Submissions'),
  }
}
