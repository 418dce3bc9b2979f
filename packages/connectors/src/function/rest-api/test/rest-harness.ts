import { scratchWarehouseForAll } from '@sluice/warehouses/testing/scratch-warehouse'
import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { type ConnectorHarness, openHarness } from '../../../../test/connector-harness.ts'
import {
  type StandInRequest,
  type StandInResponse,
  type StandInServer,
  startStandInServer,
} from '../../../../test/stand-in-server.ts'
import type { RestApiSettings } from '../rest-request.ts'

/** An API that answers as each test says, and the loads of it. */
export interface RestHarness {
  harness: ConnectorHarness
  server: StandInServer
  respond: (request: StandInRequest) => StandInResponse
  /** The source with these settings, at `/v1` of the server. */
  createReading(restApi: RestApiSettings, functionSource?: object): ReturnType<typeof createReading>
  load(restApi: RestApiSettings, mode?: 'FULL' | 'INCREMENTAL'): Promise<unknown>
  /** The paths and queries of all requests. */
  paths(): string[]
}

export const secrets = { authToken: 'a-token-of-the-api' }

/** Starts an API and a warehouse for the tests of a file. Each test has a table of its own. */
export function openRestHarness(): RestHarness {
  const scratch = scratchWarehouseForAll()
  const rest: RestHarness = {
    harness: undefined!,
    server: undefined!,
    respond: () => ({ body: [] }),
    createReading: (restApi, functionSource) => createReading(rest.server.url, restApi, functionSource),
    load: (restApi, mode) => rest.harness.load(rest.createReading(restApi), mode),
    paths: () => rest.server.requests.map(({ path, query }) => (query.size > 0 ? `${path}?${query}` : path)),
  }
  beforeAll(async () => {
    rest.harness = await openHarness(scratch)
    rest.server = await startStandInServer((request) => rest.respond(request))
  })
  beforeEach(() => {
    rest.server.requests.length = 0
    rest.server.fault = () => undefined
    delete rest.server.clock
    rest.harness.table = `rows_${Math.random().toString(36).slice(2)}`
    rest.harness.messages.length = 0
  })
  afterAll(async () => {
    await rest.server?.[Symbol.asyncDispose]()
    await rest.harness?.[Symbol.asyncDispose]()
  })
  return rest
}

const createReading = (url: string, restApi: RestApiSettings, functionSource: object = {}) => ({
  type: 'FUNCTION' as const,
  settings: { type: 'FUNCTION', functionSource: { url: `${url}/v1`, ...functionSource }, restApi },
  secrets,
  input: {},
})
