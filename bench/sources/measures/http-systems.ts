import { join } from 'node:path'
import { connectorFixtures } from '../../../packages/connectors/test/all-connector-fixtures.ts'
import { createSluiceLoader } from '../../load/loaders/sluice-loader.ts'
import { executeSql } from '../../load/database.ts'
import { readContent } from '../../load/table-content.ts'
import { compare, type SourceResult, type BenchContext } from './measure.ts'
import { rawDownload } from '../raw-transfer.ts'
import { startStandIn } from '../stand-in/start-stand-in.ts'

export const systemNames = Object.keys(connectorFixtures)
/** Systems that need one request per row. A tenth of the rows is enough for them. */
const oneRequestPerRow = new Set(['openlmis'])

/** Measures a system with an HTTP API against fetching the same responses. */
export async function system(context: BenchContext, name: string): Promise<SourceResult> {
  const fixture = connectorFixtures[name]!
  const rows = Math.ceil(context.rows * (oneRequestPerRow.has(name) ? 0.1 : 1))
  await using standIn = await startStandIn(name, rows)
  const sluice = await createSluiceLoader(context.installation, {
    name: `system_${name.toLowerCase()}`,
    type: fixture.type,
    settings: requestSettings(standIn.settings, standIn.secrets),
    table: fixture.table ?? '',
    values: `t."${fixture.columns.name}"`,
    // The API accepts only addresses of Google, so the setting is changed in the database.
    onCreated: (uid) => pointToStandIn(context, uid, standIn.settings),
  })
  // The stand-in records the requests of this first load.
  await sluice.load()
  const file = join(context.folder, `${name}.json`)
  await standIn.keep(file)
  const people = `(select 'Person ' || n || ' ' || repeat('x', 1000) as name from generate_series(1, ${rows}) as n)`
  const expected = await readContent({ database: context.peers, table: people, values: 't.name' })
  return await compare(context, {
    type: fixture.type,
    label: fixture.system,
    raw: rawDownload(file, 1),
    sluice,
    expected,
  })
}

/** Returns the settings of a request body, with the secrets included. */
function requestSettings(stored: Record<string, unknown>, secrets: Record<string, string>) {
  const [place = ''] = Object.keys(stored).filter((field) => field.endsWith('Source'))
  const source = { ...(stored[place] as object), ...secrets }
  if (place !== 'spreadsheetSource') return { ...stored, [place]: source }
  const { pathname } = new URL((source as unknown as { url: string }).url)
  return { ...stored, [place]: { ...source, url: `https://docs.google.com${pathname}` } }
}

function pointToStandIn({ installation }: BenchContext, uid: string, settings: object): Promise<void> {
  const text = JSON.stringify(settings).replaceAll("'", "''")
  return executeSql(
    installation.databaseUrl('pipeline'),
    `update data_pipelines set settings = '${text}'::jsonb where uid = '${uid}' and type = 'ONLINE_SPREADSHEET'`,
  )
}
