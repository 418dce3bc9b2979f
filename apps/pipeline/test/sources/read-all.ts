import { peakMemory } from '@sluice/testing/peak-memory'
import { keepReaderThreads } from '../../src/engine/sources/files/keep-reader-threads.ts'
import type { Report } from '../../src/engine/sources/source.ts'
import { openSources } from '../../src/engine/sources/sources.ts'
import { allowedHere } from './allowed-here.ts'
import { systemIn } from './system-in.ts'

/** Reads a source to its end in a process of its own, whose memory somebody else has bounded, and says how many rows it had. */
const { filesDirectory, module, ...reading } = JSON.parse(process.argv[2]!)
const systems = module === undefined ? {} : systemIn(reading.type, module)
const sources = openSources({ filesDirectory, allowed: allowedHere, systems })
// As a worker does.
keepReaderThreads()
const counts = { rows: 0, bytes: 0 }
const report: Report = {
  progress: ({ rowsRead }) => void (counts.rows = rowsRead ?? counts.rows),
  reject: (row) => void process.stderr.write(`${row.reason}\n`),
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}
for await (const { columns, content } of sources.read(reading, report, new AbortController().signal)) {
  for await (const { bytes, release } of content.rows(columns)) {
    counts.bytes += bytes.length
    release?.()
  }
}
process.stdout.write(JSON.stringify({ ...counts, peak: peakMemory() }))
