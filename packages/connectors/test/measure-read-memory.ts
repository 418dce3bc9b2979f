import { peakMemory } from '@sluice/testing/peak-memory'
import { keepReaderThreads } from '@sluice/file-formats/start-reader-thread'
import type { ReadReporter } from '@sluice/row-stream'
import { createConnectorRegistry } from '../src/registry/connector-registry.ts'
import { allowedLoopback } from './allow-loopback.ts'

/**
 * Reads a source to its end, and prints how many rows and bytes it had and how much memory this process had at most (`peak`, bytes).
 * With `--expose-gc` also what was reachable after the first megabyte of rows (`reachableFirst`, bytes) and at most after each
 * further one (`reachableMost`): that does not depend on when the garbage collector runs.
 */
const { filesDirectory, module, ...reading } = JSON.parse(process.argv[2]!)
const systems = module === undefined ? {} : { [reading.type]: module }
const sources = createConnectorRegistry({ filesDirectory, allowed: allowedLoopback, systems })
// As a worker does.
keepReaderThreads()
const counts = { rows: 0, bytes: 0 }
const reachable: number[] = []
const report: ReadReporter = {
  progress: ({ rowsRead }) => void (counts.rows = rowsRead ?? counts.rows),
  reject: (row) => void process.stderr.write(`${row.reason}\n`),
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}
for await (const { columns, content } of sources.read(reading, report, new AbortController().signal)) {
  for await (const { bytes, release } of content.rows(columns)) {
    counts.bytes += bytes.length
    if (globalThis.gc && counts.bytes > reachable.length * 2 ** 20) {
      globalThis.gc()
      const { heapUsed, external } = process.memoryUsage()
      reachable.push(heapUsed + external)
    }
    release?.()
  }
}
const [reachableFirst, ...reachableLater] = reachable
process.stdout.write(
  JSON.stringify({ ...counts, peak: peakMemory(), reachableFirst, reachableMost: Math.max(...reachableLater) }),
)
