import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { type ClientAccess, clickhouseAccess } from '../../src/engine/warehouses/clickhouse/access.ts'
import { execute, rowsOf } from '../../src/engine/warehouses/clickhouse/http.ts'

/** Where `infra/clickhouse/install.ts` puts the library. */
const installed = join(import.meta.dirname, '../../../../.sluice/clickhouse')

const library = process.env['SLUICE_TEST_CLICKHOUSE'] === '1'

/** Why no ClickHouse is asked here; undefined where one is. */
export const clickhouseMissing: string | undefined =
  library || process.env['CLICKHOUSE_TEST_URL']
    ? undefined
    : 'runs with SLUICE_TEST_CLICKHOUSE=1, after `node infra/clickhouse/install.ts`, or with the URL of a server’s administrator in CLICKHOUSE_TEST_URL'

export interface ClickHouseServer extends AsyncDisposable {
  /** Of the HTTP interface, with the administrator's user and password. */
  url: string
  /** Whether it has users; the library has none. */
  hasUsers: boolean
  /** A client that nobody else has. */
  client(): ClientAccess
  /** Ends it at once, as a machine that loses its power does. Of the library only. */
  kill(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The server of CLICKHOUSE_TEST_URL, or the library in a process of its own. `data` is where it keeps its tables. */
export async function clickhouseServer(data?: string): Promise<ClickHouseServer> {
  const given = process.env['CLICKHOUSE_TEST_URL']
  const process_ = given ? undefined : await started(data)
  const url = given ?? process_!.url
  const keys = new Set<string>()
  return {
    url,
    hasUsers: given !== undefined,
    client() {
      const key = randomBytes(10).toString('hex')
      keys.add(key)
      return clickhouseAccess(url, { key, loadPassword: `load-${key}`, readPassword: `read-${key}` })
    },
    async kill() {
      await process_?.end('SIGKILL')
    },
    async [Symbol.asyncDispose]() {
      if (process_) {
        await process_.end('SIGTERM')
        return
      }
      const { service } = clickhouseAccess(url, { key: 'x', loadPassword: '', readPassword: '' })
      for (const key of keys) {
        const where = 'select name from system.databases where match(name, {pattern:String})'
        const parameters = { pattern: `^c_${key}($|[_-])` }
        for (const { name } of await rowsOf<{ name: string }>(service, where, { parameters }))
          await execute(service, `drop database if exists \`${name}\``)
        await execute(service, `drop user if exists c_${key}_load, c_${key}_read`)
      }
    },
  }
}

async function started(data?: string) {
  const program = join(import.meta.dirname, 'embedded-clickhouse.ts')
  const child = spawn(process.execPath, [program, installed, ...(data ? [data] : [])], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const [port] = (await once(child.stdout!, 'data')) as [Buffer]
  return {
    url: `http://127.0.0.1:${port.toString().trim()}`,
    async end(signal: NodeJS.Signals) {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    },
  }
}
