import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startClickHouse } from '../../../infra/clickhouse/clickhouse.ts'
import { describeMissingClickhouse, clickhouseLibraryPath } from '../../../infra/clickhouse/clickhouse-library.ts'
import { type ClientAccess, clickhouseAccess } from '../src/clickhouse/clickhouse-settings.ts'
import { executeStatement, rowsOf } from '../src/clickhouse/protocol/http-client.ts'

const given = process.env['CLICKHOUSE_TEST_URL']
const programs = process.env['SLUICE_TEST_PROGRAMS'] ?? 'nowhere'

/** The reason to skip tests that need ClickHouse; undefined if one is available. */
export const clickhouseMissing: string | undefined = given ? undefined : ownMissing()

function ownMissing(): string | undefined {
  if (process.env['SLUICE_TEST_CLICKHOUSE'] === '1') return describeMissingClickhouse(programs)
  return 'runs with SLUICE_TEST_CLICKHOUSE=1, or with the URL of a server’s administrator in CLICKHOUSE_TEST_URL'
}

export interface ClickHouseServer extends AsyncDisposable {
  /** Of the HTTP interface, with the administrator's user and password. */
  url: string
  /** A client that no other test uses. */
  client(): ClientAccess
  /** Ends it at once, as a machine that loses its power does. Not one of CLICKHOUSE_TEST_URL. */
  kill(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Returns the server of CLICKHOUSE_TEST_URL, or starts one. `data` is the folder of its tables; a server that is
 * started later with the same folder and port continues with them.
 */
export async function clickhouseServer(data?: string, port?: number): Promise<ClickHouseServer> {
  return given ? serverAt(given) : ownServer(data, port)
}

async function ownServer(data?: string, port = 0): Promise<ClickHouseServer> {
  const folder = data ?? (await mkdtemp(join(tmpdir(), 'sluice-clickhouse-')))
  const server = await startClickHouse({ library: clickhouseLibraryPath(programs), data: folder, port })
  return {
    url: server.url,
    client: () => newClient(server.url),
    kill: () => server.kill(),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      if (data === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}

function newClient(url: string, key = randomBytes(10).toString('hex')): ClientAccess {
  return clickhouseAccess(url, { key, loadPassword: `load-${key}`, readPassword: `read-${key}` })
}

/** Leaves nothing of its clients behind. */
function serverAt(url: string): ClickHouseServer {
  const clients: ClientAccess[] = []
  return {
    url,
    client() {
      const access = newClient(url)
      clients.push(access)
      return access
    },
    kill: () => Promise.reject(new Error('The server of CLICKHOUSE_TEST_URL is not ours to kill.')),
    async [Symbol.asyncDispose]() {
      for (const { key, service, load, read } of clients) {
        const where = 'select name from system.databases where match(name, {pattern:String})'
        const parameters = { pattern: `^c_${key}($|[_-])` }
        for (const { name } of await rowsOf<{ name: string }>(service, where, { parameters }))
          await executeStatement(service, `drop database if exists \`${name}\``)
        const users = 'select name from system.users where match(name, {pattern:String})'
        const readers = await rowsOf<{ name: string }>(service, users, { parameters: { pattern: `^c_${key}_r_` } })
        for (const { name } of readers) await executeStatement(service, `drop user if exists \`${name}\``)
        await executeStatement(service, `drop user if exists ${load.user}, ${read.user}`)
      }
    },
  }
}
