import { join } from 'node:path'
import { state } from '../paths.ts'
import { Refusal, refuse } from '../refusal.ts'
import { installMissingPrograms, programsFolder } from '../test/npm-programs.ts'
import { startClickHouse } from './clickhouse.ts'
import { clickhouseMissing, clickhousePackage, libraryIn } from './library.ts'

/**
 * `npm run clickhouse`: a ClickHouse on this machine to try things with, at CLICKHOUSE_PORT or 8123, until Ctrl-C; what is in it stays.
 * It is no server for data that matters: nobody watches it, and its password is known.
 */
const start = async (): Promise<void> => {
  await installMissingPrograms([clickhousePackage])
  const missing = clickhouseMissing(programsFolder)
  if (missing) throw new Refusal(`${missing}.`)
  const port = Number(process.env['CLICKHOUSE_PORT'] || 8123)
  const server = await startClickHouse({ library: libraryIn(programsFolder), data: join(state, 'clickhouse'), port })
  console.log(`ClickHouse answers. Start Sluice with it:\n  CLICKHOUSE_URL=${server.url} npm start`)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void server[Symbol.asyncDispose]().then(() => process.exit()))
}

await start().catch(refuse)
