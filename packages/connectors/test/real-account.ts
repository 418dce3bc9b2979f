import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { loadFeeds } from '@sluice/warehouses/load-feeds'
import { createSourceRegistry } from '../src/registry/source-registry.ts'
import type { Warehouse } from '@sluice/warehouses/warehouse'
import { word } from '@sluice/warehouses/testing/scratch-warehouse'
import { allowedHere } from './allowed-here.ts'
import { silent } from './reading-scene.ts'
import type { Account, Scene } from './scene.ts'

/** The same source against a real account of somebody, where the environment says one: nothing is changed there. */
export function realAccount(scene: Scene, account: Account, warehouse: () => Warehouse): void {
  const values = Object.fromEntries(account.variables.map((name) => [name, process.env[name] ?? '']))
  const absent = account.variables.filter((name) => values[name] === '')
  const add = absent.length === 0 ? it : it.skip

  describe(`${scene.system}, a real account`, () => {
    const why = absent.length === 0 ? '' : ` (set ${absent.join(', ')})`
    add(
      `is tried, looked at, loaded, and gone on with${why}`,
      async () => {
        const filesDirectory = mkdtempSync(join(tmpdir(), 'sluice-account-'))
        const sources = createSourceRegistry({ filesDirectory, allowed: allowedHere })
        const signal = AbortSignal.timeout(1_500_000)
        const table = word('account_')
        const reading = {
          type: scene.type,
          settings: account.settings(values),
          secrets: account.secrets(values),
          input: {},
          table,
        }
        expect(await sources.test(reading, signal)).toBeUndefined()
        for (const kind of Object.keys(scene.lookups))
          expect(await sources.lookup(kind, reading, signal)).toBeInstanceOf(Array)
        const { columns } = await sources.preview(reading, 10, signal)
        expect(columns.length).toBeGreaterThan(0)
        for (const mode of ['FULL', 'INCREMENTAL'] as const) {
          const cursor = await warehouse().loader.findCursor('health', table)
          const asked = { ...reading, mode, cursor }
          const merged = mode === 'INCREMENTAL' && (await sources.increments(asked))
          const tables = await loadFeeds({
            feeds: sources.read(asked, silent, signal),
            warehouse: warehouse(),
            target: { schema: 'health', table },
            run: word('run'),
            attempt: 1,
            isCurrentAttempt: async () => true,
            signal,
            rejected: () => ({ count: 0 }),
            ...(merged && { mode: 'MERGE' as const }),
          })
          expect(tables.length).toBeGreaterThan(0)
        }
        await rm(filesDirectory, { recursive: true, force: true })
      },
      1_800_000,
    )
  })
}
