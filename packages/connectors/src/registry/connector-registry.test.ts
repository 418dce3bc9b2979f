import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { expect, it } from '@jest/globals'
import { outgoingAllowed } from '@sluice/http-client'
import type { LoadReport } from '@sluice/row-stream'
import { createConnectorRegistry } from './connector-registry.ts'

it.each([
  ['INCREMENTAL', [['INFO', 'LOW', expect.stringMatching(/^The source cannot tell what is new: all of it is read/)]]],
  ['FULL', []],
  [undefined, []],
] as const)('a source that cannot tell what is new says so when it is asked for that: %s', (mode, expected) => {
  const said: unknown[] = []
  const report = { log: (...line: unknown[]) => void said.push(line) } as unknown as LoadReport
  const allowed = outgoingAllowed().fallback!
  const sources = createConnectorRegistry({ filesDirectory: tmpdir(), allowed })
  const file = { uid: randomUUID(), name: 'a.csv' }
  const reading = { type: 'CSV_UPLOAD', settings: {}, secrets: {}, input: { file }, ...(mode && { mode }) }
  sources.read(reading, report, new AbortController().signal)
  expect(said).toEqual(expected)
})
