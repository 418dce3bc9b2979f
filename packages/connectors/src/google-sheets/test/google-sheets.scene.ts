import { startSheets } from './google-sheets-server.ts'
import type { Scene } from '../../../test/scene.ts'
import type { Request } from '../../../test/stand-in.ts'

const whole = 'The API does not report when a row was changed: each run reads the sheet and replaces the rows.'

export async function standIn(...given: Parameters<typeof startSheets>) {
  const started = await startSheets(...given)
  return {
    ...started,
    settings: { type: 'ONLINE_SPREADSHEET', spreadsheetSource: { url: started.url } },
    secrets: { serviceAccountKey: started.key } as Record<string, string>,
    isPage: ({ query }: Request) => query.has('ranges'),
  }
}

export const googleSheets: Scene = {
  type: 'ONLINE_SPREADSHEET',
  system: 'Google Sheets',
  without: { increment: whole, edit: whole, groups: 'A cell contains no list.' },
  columns: { id: 'id', name: 'name', extra: 'extra' },
  lookups: { sheets: ['0'] },
  start: () => standIn(),
  account: {
    variables: ['SLUICE_SHEETS_URL', 'SLUICE_SHEETS_KEY_FILE'],
    settings: (values) => ({
      type: 'ONLINE_SPREADSHEET',
      spreadsheetSource: { url: values['SLUICE_SHEETS_URL'] },
    }),
    secrets: (values) => ({ serviceAccountKey: values['SLUICE_SHEETS_KEY_FILE']! }),
  },
}
