import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { type Person, People } from '../../../test/sample-records.ts'
import { type StandInResponse, type StandInRequest, startStandInServer } from '../../../test/stand-in-server.ts'
import type { ConnectorFixture } from '../../../test/connector-fixture.ts'

export const spreadsheet = '1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms'
export const apiKey = 'AIzaSyExampleOfAnApiKey'
const email = 'reader@project.iam.gserviceaccount.com'

/** `ERROR!` is a formula that fails, null an empty cell. */
export type Cell = string | number | boolean | null | { days: number; type: 'DATE' | 'TIME' | 'DATE_TIME' }

export interface Sheet {
  title: string
  rows: Cell[][]
}

/** Answers as the Sheets API does, of a spreadsheet whose first tab lists people, behind a chart; `sheets` come after it. */
export async function startSheets(sheets: Sheet[] = []) {
  const people = new People()
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const publicKey = createPublicKey(privateKey)
  let tokens = 0
  const server = await startStandInServer(answer)

  function answer({ method, path, query, headers, body }: StandInRequest): StandInResponse {
    if (method === 'POST' && path === '/token') return token(new URLSearchParams(body))
    const given = headers['x-goog-api-key']
    if (given !== undefined && given !== apiKey)
      return refuse(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.')
    if (given === undefined && headers.authorization !== `Bearer ya29.${tokens}`)
      return refuse(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
    if (path !== `/v4/spreadsheets/${spreadsheet}`) return refuse(404, 'NOT_FOUND', 'Requested entity was not found.')
    const fields = query.get('fields')
    if (fields === 'sheets.properties(sheetId,title,sheetType,gridProperties(rowCount,columnCount))') return tabs()
    if (fields === 'sheets.data.rowData.values(effectiveValue,effectiveFormat.numberFormat.type)')
      return grid(query.get('ranges')!)
    if (fields === 'sheets(properties.title,data.rowData.values.effectiveValue)')
      return { body: { sheets: query.getAll('ranges').map(titled) } }
    return refuse(400, 'INVALID_ARGUMENT', 'Invalid field selection')
  }

  function token(form: URLSearchParams): StandInResponse {
    const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
    const messages = JSON.parse(Buffer.from(claims, 'base64url').toString())
    const right =
      form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
      verify('sha256', Buffer.from(`${head}.${claims}`), publicKey, Buffer.from(signature, 'base64url')) &&
      messages.iss === email &&
      messages.aud === `${server.url}/token` &&
      messages.scope === 'https://www.googleapis.com/auth/spreadsheets.readonly' &&
      messages.exp - messages.iat <= 3600
    if (!right) return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } }
    tokens += 1
    return { body: { access_token: `ya29.${tokens}`, expires_in: 3599, token_type: 'Bearer' } }
  }

  /** A few rows at the end are empty, as in every new sheet. */
  function tabs(): StandInResponse {
    const all = [
      { title: "People's list", rowCount: people.size + 4, columnCount: 6 },
      ...sheets.map(({ title, rows }) => ({ title, rowCount: rows.length + 3, columnCount: 26 })),
    ].map(({ title, ...gridProperties }, index) => ({
      properties: { sheetId: index * 7, title, sheetType: 'GRID', gridProperties },
    }))
    return { body: { sheets: [{ properties: { sheetId: 99, title: 'A chart', sheetType: 'OBJECT' } }, ...all] } }
  }

  /** Returns the sheet of a range with its title and cell values. */
  function titled(range: string) {
    const title = /^'(.*)'!/.exec(range)![1]!.replaceAll("''", "'")
    const { sheets } = grid(range).body as { sheets: object[] }
    return { properties: { title }, ...sheets[0] }
  }

  function grid(range: string): StandInResponse {
    const [, title, left, top, right, bottom] = /^'(.*)'!([A-Z])(\d+):([A-Z])(\d+)$/.exec(range) ?? []
    const named = title?.replaceAll("''", "'")
    const sheet = sheets.find((one) => one.title === named)
    if (!sheet && named !== "People's list") return refuse(400, 'INVALID_ARGUMENT', `Unable to parse range: ${range}`)
    const [from, to] = [Number(top), Number(bottom)]
    const rows = sheet?.rows.slice(from - 1, to) ?? listOf(from, to)
    const cut = rows.map((row) => row.slice(left!.charCodeAt(0) - 65, right!.charCodeAt(0) - 64))
    const rowData = cut.map((row) => (row.length === 0 ? {} : { values: row.map(cellOf) }))
    return { body: { sheets: [{ data: [rowData.length === 0 ? {} : { rowData }] }] } }
  }

  function listOf(from: number, to: number): Cell[][] {
    const extra = people.generated === 0 && people.page().some((one) => one.extra !== undefined)
    const header = ['id', 'name', 'Seen on', ...(extra ? ['extra'] : [])]
    const found = people.page({ skip: Math.max(0, from - 2), limit: to - Math.max(2, from) + 1 }).map(personRow)
    return from === 1 ? [header, ...found] : found
  }

  const keyFile = (pem: string | Buffer) =>
    JSON.stringify({
      type: 'service_account',
      private_key_id: 'one',
      private_key: pem,
      client_email: email,
      token_uri: `${server.url}/token`,
    })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' })
  return { server, people, keyFile, url: `${server.url}/spreadsheets/d/${spreadsheet}/edit#gid=0`, key: keyFile(pem) }
}

/** Rows end where nothing comes any more. */
const personRow = ({ id, name, extra, isUnstorable }: Person): Cell[] => [
  id,
  isUnstorable ? `\u0000${name}` : name,
  { days: 46_023, type: 'DATE' },
  ...(extra === undefined ? [] : [extra]),
]

function cellOf(cell: Cell): object {
  if (cell === null) return {}
  if (cell === 'ERROR!') return { effectiveValue: { errorValue: { type: 'N_A', message: 'Did not find it.' } } }
  if (typeof cell === 'string') return { effectiveValue: { stringValue: cell } }
  if (typeof cell === 'boolean') return { effectiveValue: { boolValue: cell } }
  if (typeof cell === 'number') return { effectiveValue: { numberValue: cell } }
  return { effectiveValue: { numberValue: cell.days }, effectiveFormat: { numberFormat: { type: cell.type } } }
}

const refuse = (code: number, status: string, message: string): StandInResponse => ({
  status: code,
  body: { error: { code, message, status } },
})

const whole = 'The API does not report when a row was changed: each run reads the sheet and replaces the rows.'

export async function standIn(...given: Parameters<typeof startSheets>) {
  const started = await startSheets(...given)
  return {
    ...started,
    settings: { type: 'ONLINE_SPREADSHEET', spreadsheetSource: { url: started.url } },
    secrets: { serviceAccountKey: started.key } as Record<string, string>,
    isPageRequest: ({ query }: StandInRequest) => query.has('ranges'),
  }
}

export const googleSheets: ConnectorFixture = {
  type: 'ONLINE_SPREADSHEET',
  system: 'Google Sheets',
  unsupportedRules: { increment: whole, edit: whole, groups: 'A cell contains no list.' },
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
