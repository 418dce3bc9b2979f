import type { Report } from '../../src/engine/sources/source.ts'
import { openSources } from '../../src/engine/sources/sources.ts'
import { allowedHere } from './allowed-here.ts'

/** Reads a source to its end in a process of its own, whose memory somebody else has bounded, and says how many rows it had. */
const { filesDirectory, ...reading } = JSON.parse(process.argv[2]!)
const sources = openSources({ filesDirectory, allowed: allowedHere })
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
process.stdout.write(JSON.stringify(counts))
