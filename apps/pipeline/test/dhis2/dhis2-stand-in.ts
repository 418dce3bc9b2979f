import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataElements, dataSets, importValues, type Sent, type Stored } from './stand-in-imports.ts'

/** What a server says instead of what DHIS2 would. */
export interface Instead {
  status?: number
  headers?: Record<string, string>
  /** JSON unless it is a text. */
  body?: object | string
  /** Milliseconds before it answers. */
  after?: number
  /** The values are taken all the same. */
  taken?: boolean
  /** Nothing is ever answered. */
  silent?: boolean
  /** The connection is broken off. */
  broken?: boolean
}

export interface Request {
  method: string
  path: string
  query: URLSearchParams
  authorization: string | undefined
  body: string
}

interface Behaviour {
  /** Default: `2.41.3`. */
  version?: string
  authorities?: string[]
  /** Asked before every request is answered as DHIS2 would. */
  instead?(request: Request, count: number): Instead | undefined
}

export const credentials = { username: 'importer', password: 'District1-sesame' }
export const token = 'd2pat_5xVA12xyUbWNedQxy4ohH77WlxRGVvZZ1151814092'

const allowed = [
  `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`,
  `ApiToken ${token}`,
]

/**
 * A stand-in of DHIS2, written from its documentation and sources. Its base path is /dhis, with the API at /dhis/api.
 * It stores the values that it receives like the database of a DHIS2.
 */
export async function startDhis2({ version = '2.41.3', authorities = ['F_DATAVALUE_ADD'], instead }: Behaviour = {}) {
  const stored: Stored = new Map()
  const requests: Request[] = []
  const state = { version, authorities, instead }
  const imports = () => requests.filter(({ method }) => method === 'POST')

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy())
  })

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url!, 'http://stand.in')
    const request: Request = {
      method: incoming.method!,
      path: pathname,
      query: searchParams,
      authorization: incoming.headers.authorization,
      body: await text(incoming),
    }
    requests.push(request)
    const said = state.instead?.(request, requests.filter(({ path }) => path === request.path).length)
    if (said?.after) await sleep(said.after)
    if (said?.broken) return void response.destroy()
    const usual = !said?.status || said.taken ? dhis2(request) : undefined
    if (said?.silent) return
    const { status, body, headers = {} } = said?.status ? { headers: {}, body: '', ...said } : usual!
    const sent = typeof body === 'string' ? body : JSON.stringify(body)
    response.writeHead(status!, {
      'content-type': typeof body === 'string' ? 'text/html' : 'application/json',
      ...headers,
    })
    response.end(sent)
  }

  function dhis2({ method, path, query, authorization, body }: Request): {
    status: number
    body: object | string
    headers?: Record<string, string>
  } {
    const [, what] = /^\/dhis\/api\/(.+)$/.exec(path) ?? []
    if (!what) return { status: 404, body: '<html>Not found</html>' }
    if (!allowed.includes(authorization ?? ''))
      return {
        status: 401,
        body: { httpStatus: 'Unauthorized', httpStatusCode: 401, status: 'ERROR', message: 'Unauthorized' },
      }
    if (what === 'me')
      return {
        status: 200,
        body: { id: 'xE7jOejl9FI', username: credentials.username, authorities: state.authorities },
      }
    if (what === 'system/info')
      return { status: 200, body: { version: state.version, contextPath: 'https://play.example.org' } }
    if (what === 'dataValueSets' && method === 'POST')
      return importValues(JSON.parse(body) as Sent, { query, version: state.version, stored })
    if (what === 'dataSets' && query.get('paging') === 'false')
      return {
        status: 200,
        body: {
          dataSets: Object.entries(dataSets).map(([id, elements]) => ({
            id,
            dataSetElements: elements.map((element) => ({ dataElement: { id: element, ...dataElements[element] } })),
          })),
        },
      }
    return list(what, query)
  }

  function list(plural: string, query: URLSearchParams) {
    if (plural !== 'dataElements') return { status: 200, body: { pager: { page: 1 }, [plural]: [] } }
    const wanted = /^name:ilike:(.*)$/.exec(query.get('filter') ?? '')?.[1]?.toLowerCase() ?? ''
    const found = Object.entries(dataElements)
      .filter(([, { name }]) => name.toLowerCase().includes(wanted))
      .map(([id, { code, name }]) => ({ id, name, ...(code && { code }) }))
    return { status: 200, body: { pager: { page: 1, total: found.length }, dataElements: found } }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A test that failed before it stopped this one is to end all the same.
  server.unref()
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/dhis`,
    port,
    stored,
    requests,
    imports,
    /** May be changed while it runs. */
    state,
    stop: () => {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

export type Dhis2StandIn = Awaited<ReturnType<typeof startDhis2>>
