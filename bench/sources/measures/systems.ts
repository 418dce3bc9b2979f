import { join } from 'node:path'
import { connectorFixtures } from '../../../packages/connectors/test/connector-fixtures.ts'
import { product } from '../../load/contenders/product.ts'
import { runOn } from '../../load/database.ts'
import { contentOf } from '../../load/verify.ts'
import { compare, type Line, type Parts } from '../line.ts'
import { rawDownload } from '../raw.ts'
import { startStandIn } from '../stand-in/stand-in-process.ts'

export const systemNames = Object.keys(connectorFixtures)
/** Each row takes a request of its own: a tenth of them is enough. */
const oneByOne = new Set(['openlmis'])

/** A system that is asked by HTTP, against fetching the same answers. */
export async function system(parts: Parts, name: string): Promise<Line> {
  const fixture = connectorFixtures[name]!
  const rows = Math.ceil(parts.rows * (oneByOne.has(name) ? 0.1 : 1))
  await using standIn = await startStandIn(name, rows)
  const own = await product(parts.installation, {
    name: `system_${name}`,
    type: fixture.type,
    settings: given(standIn.settings, standIn.secrets),
    table: fixture.table ?? '',
    values: `t."${fixture.columns.name}"`,
    // Google's own address is the only one that is saved.
    made: (uid) => atStandIn(parts, uid, standIn.settings),
  })
  // Once before: to hear what is asked for.
  await own.load()
  const file = join(parts.folder, `${name}.json`)
  await standIn.keep(file)
  const people = `(select 'Person ' || n || ' ' || repeat('x', 1000) as name from generate_series(1, ${rows}) as n)`
  const expected = await contentOf({ database: parts.peers, table: people, values: 't.name' })
  return await compare(parts, { type: fixture.type, what: fixture.system, raw: rawDownload(file, 1), own, expected })
}

/** A body, with the secrets where it has them. */
function given(stored: Record<string, unknown>, secrets: Record<string, string>) {
  const [place = ''] = Object.keys(stored).filter((field) => field.endsWith('Source'))
  const source = { ...(stored[place] as object), ...secrets }
  if (place !== 'spreadsheetSource') return { ...stored, [place]: source }
  const { pathname } = new URL((source as unknown as { url: string }).url)
  return { ...stored, [place]: { ...source, url: `https://docs.google.com${pathname}` } }
}

function atStandIn({ installation }: Parts, uid: string, settings: object): Promise<void> {
  const text = JSON.stringify(settings).replaceAll("'", "''")
  return runOn(
    installation.databaseUrl('pipeline'),
    `update data_pipelines set settings = '${text}'::jsonb where uid = '${uid}' and type = 'ONLINE_SPREADSHEET'`,
  )
}
