import type { ConnectorFixture } from '../../../../test/connector-fixture.ts'
import { type Person, People } from '../../../../test/sample-records.ts'
import { type StandInRequest, type StandInResponse, startStandInServer } from '../../../../test/stand-in-server.ts'

const secretKey = 'sk_test_a1b2c3d4e5f6a1b2c3d4'
const productsPath = '/v1/products'
const maxPerPage = 100
const epochSeconds = Date.UTC(2026, 0, 1) / 1_000

/** Answers as the API of Stripe, which has the newest products first and continues after the id of a product. */
export async function startStripe() {
  const people = new People()
  const server = await startStandInServer(respond)

  function respond({ path, query, headers }: StandInRequest): StandInResponse {
    if (headers.authorization !== `Bearer ${secretKey}`) return refuse(401, 'Invalid API Key provided')
    return path === productsPath ? listProducts(query) : refuse(404, 'Unrecognized request URL')
  }

  function listProducts(query: URLSearchParams): StandInResponse {
    const limit = Math.min(Number(query.get('limit') ?? 10), maxPerPage, people.pageSize)
    const after = query.get('starting_after')
    const since = query.get('created[gte]')
    const below = after === null ? Infinity : Number(after.slice('prod_'.length))
    const wanted = ({ createdAt }: Person) => since === null || epochSeconds + createdAt >= Number(since)
    const found = people.newestPage({ below, limit: limit + 1, wanted })
    const data = found.slice(0, limit).map(toProduct)
    return { body: { object: 'list', data, has_more: found.length > limit, url: productsPath } }
  }

  return { server, people }
}

const refuse = (status: number, message: string): StandInResponse => ({
  status,
  body: { error: { type: 'invalid_request_error', message } },
})

const toProduct = ({ id, name, extra, children = [], createdAt, isUnstorable }: Person): object => ({
  id: `prod_${String(id).padStart(8, '0')}`,
  object: 'product',
  active: true,
  created: epochSeconds + createdAt,
  default_price: 'price_1PgafmB7WZ01zgkW02Hf9z6c',
  description: 'Comfortable gray cotton t-shirt',
  images: [],
  livemode: false,
  marketing_features: children.map((called) => ({ name: called })),
  metadata: {},
  name: isUnstorable ? `\u0000${name}` : name,
  package_dimensions: null,
  type: 'good',
  ...(extra !== undefined && { extra }),
})

export const stripeProducts: ConnectorFixture = {
  type: 'FUNCTION',
  system: 'REST API with a cursor (Stripe)',
  unsupportedRules: {
    edit: 'The API filters by the time of creation only, so it does not report edits: full runs load edits and deletions.',
  },
  columns: { id: 'id', name: 'name', extra: 'extra' },
  group: { table: '__marketing_features', column: 'name' },
  lookups: { 'record-paths': ['data'] },
  async start() {
    const { server, people } = await startStripe()
    return {
      server,
      people,
      settings: {
        type: 'FUNCTION',
        functionSource: { url: `${server.url}/v1/` },
        restApi: {
          path: 'products',
          records: 'data',
          key: ['id'],
          paging: {
            type: 'CURSOR',
            lastRecordField: 'id',
            parameter: 'starting_after',
            hasMore: 'has_more',
            sizeParameter: 'limit',
            size: 100,
          },
          increment: { cursorField: 'created', parameter: 'created[gte]', cursorType: 'UNIX_SECONDS' },
        },
      },
      secrets: { authToken: secretKey },
      isPageRequest: ({ path }: StandInRequest) => path === productsPath,
    }
  },
}
