import { join } from 'node:path'
import { state } from '../paths.ts'
import { Refusal, refuse } from '../user-error.ts'
import { installMissingPrograms, programsFolder } from '../test/install-npm-packages.ts'
import { startClickHouse } from './clickhouse.ts'
import { clickhouseMissing, clickhousePackage, libraryIn } from './clickhouse-library.ts'

/**
 * `npm run clickhouse`: runs a ClickHouse for experiments on this machine until Ctrl-C, at CLICKHOUSE_PORT or 8123. Its
 * data stays. Do not use it for data that matters: it is not monitored, and its password is public.
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
