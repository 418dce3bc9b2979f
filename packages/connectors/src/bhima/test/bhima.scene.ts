import { startBhima } from './bhima-server.ts'
import type { Scene } from '../../../test/scene.ts'

const none =
  'The API does not report when a record was changed: each run reads all selected days and replaces the rows.'

export async function standIn(own: object = { resources: ['PATIENTS'] }) {
  const { username, ...started } = await startBhima()
  const apiSource = { url: started.server.url, username }
  return {
    ...started,
    settings: { type: 'SOURCE_SYSTEM_A', apiSource, project: '1', ...own },
    isPage: ({ path }: { path: string }) => /^\/(patients|stock)/.test(path),
  }
}

export const bhima: Scene = {
  type: 'SOURCE_SYSTEM_A',
  system: 'BHIMA',
  without: {
    increment: none,
    edit: none,
    groups: 'The lists of the API contain no lists.',
    page: 'The API has no pages.',
  },
  columns: { id: 'uuid', name: 'display_name', extra: 'extra' },
  table: '__patients',
  lookups: { projects: ['1', '2'] },
  start: () => standIn(),
  account: {
    variables: ['SLUICE_BHIMA_URL', 'SLUICE_BHIMA_USER', 'SLUICE_BHIMA_PASSWORD', 'SLUICE_BHIMA_PROJECT'],
    settings: (values) => ({
      type: 'SOURCE_SYSTEM_A',
      apiSource: { url: values['SLUICE_BHIMA_URL'], username: values['SLUICE_BHIMA_USER'] },
      project: values['SLUICE_BHIMA_PROJECT'],
      resources: ['PATIENTS', 'VISITS', 'INVOICES', 'CASH', 'DEPOTS', 'SERVICES'],
    }),
    secrets: (values) => ({ password: values['SLUICE_BHIMA_PASSWORD']! }),
  },
}
