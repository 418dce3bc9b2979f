import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { createConnectorRegistry } from '../src/registry/connector-registry.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import { word } from '@sluice/warehouses/testing/scratch-warehouse'
import { allowedLoopback } from './allow-loopback.ts'
import { loadSource, silentReport } from './connector-harness.ts'
import type { Account, ConnectorFixture } from './connector-fixture.ts'

/** Tests the source with a real account if the environment names one. Changes nothing there. */
export function realAccount(fixture: ConnectorFixture, account: Account, warehouse: () => Warehouse): void {
  const values = Object.fromEntries(account.variables.map((name) => [name, process.env[name] ?? '']))
  const absent = account.variables.filter((name) => values[name] === '')
  const add = absent.length === 0 ? it : it.skip

  describe(`${fixture.system}, a real account`, () => {
    const why = absent.length === 0 ? '' : ` (set ${absent.join(', ')})`
    add(
      `is tested, listed, previewed, and loaded in full and by increments${why}`,
      async () => {
        const filesDirectory = mkdtempSync(join(tmpdir(), 'sluice-account-'))
        const sources = createConnectorRegistry({ filesDirectory, allowed: allowedLoopback })
        const signal = AbortSignal.timeout(1_500_000)
        const table = word('account_')
        const reading = {
          type: fixture.type,
          settings: account.settings(values),
          secrets: account.secrets(values),
          input: {},
          table,
        }
        expect(await sources.testConnection(reading, signal)).toBeUndefined()
        for (const kind of Object.keys(fixture.lookups))
          expect(await sources.listOptions(kind, reading, signal)).toBeInstanceOf(Array)
        const { columns } = await sources.preview(reading, 10, signal)
        expect(columns.length).toBeGreaterThan(0)
        for (const mode of ['FULL', 'INCREMENTAL'] as const) {
          const tables = await loadSource({
            sources,
            warehouse: warehouse(),
            reading,
            table,
            mode,
            report: silentReport,
            rejected: () => ({ count: 0 }),
            signal,
          })
          expect(tables.length).toBeGreaterThan(0)
        }
        await rm(filesDirectory, { recursive: true, force: true })
      },
      1_800_000,
    )
  })
}
