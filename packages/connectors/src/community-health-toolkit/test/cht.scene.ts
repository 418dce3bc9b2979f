import { startCht } from './cht-server.ts'
import type { Scene } from '../../../test/scene.ts'

/** With what is not of every source: whom to delete. */
export async function standIn(own: object = {}) {
  const { username, ...started } = await startCht()
  const apiSource = { url: `${started.server.url}/medic/`, username }
  return {
    ...started,
    remove: (id: number, at: number) => void started.deleted.set(id, at),
    settings: { type: 'SOURCE_SYSTEM_F', apiSource, ...own },
    isPage: ({ path }: { path: string }) => path.endsWith('/_changes'),
  }
}

export const cht: Scene = {
  type: 'SOURCE_SYSTEM_F',
  system: 'the Community Health Toolkit',
  without: {},
  columns: { id: '_root_row_id', name: 'name', extra: 'extra' },
  marked: 'deleted',
  table: '__contact_c62_person',
  group: { table: '__children', column: 'called' },
  lookups: { forms: ['delivery', 'pregnancy'] },
  start: () => standIn(),
  account: {
    variables: ['SLUICE_CHT_URL', 'SLUICE_CHT_USER', 'SLUICE_CHT_PASSWORD'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_F',
      apiSource: { url: values['SLUICE_CHT_URL'], username: values['SLUICE_CHT_USER'] },
    }),
    secrets: (values) => ({ password: values['SLUICE_CHT_PASSWORD']! }),
  },
}
