import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { expect, it } from '@jest/globals'
import { outgoingAllowed } from '@sluice/http-client'
import type { ReadReporter } from '@sluice/row-stream'
import { createConnectorRegistry } from './connector-registry.ts'

it.each([
  [
    'INCREMENTAL',
    [['INFO', 'LOW', 'All rows are read and replace the old ones, because the source does not report changes.']],
  ],
  ['FULL', []],
  [undefined, []],
] as const)('logs that a source without increments is read in full, for a read in mode %s', async (mode, expected) => {
  const lines: unknown[] = []
  const report = { log: (...line: unknown[]) => void lines.push(line) } as unknown as ReadReporter
  const allowed = outgoingAllowed().fallback!
  const connectors = createConnectorRegistry({ filesDirectory: tmpdir(), allowed })
  const file = { uid: randomUUID(), name: 'a.csv' }
  const reading = { type: 'CSV_UPLOAD', settings: {}, secrets: {}, input: { file }, ...(mode && { mode }) }
  const streams = connectors.read(reading, report, new AbortController().signal)
  await expect(streams[Symbol.asyncIterator]().next()).rejects.toThrow()
  expect(lines).toEqual(expected)
})
