import { peakMemory } from '@sluice/testing/peak-memory'
import { csvSource } from '../csv-source.ts'
import { chunksOf } from './read-whole-file.ts'

/** Reads the CSV file that it is given to its end, and writes how many bytes of memory this process had at most. */
const report = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}
const file = { path: process.argv[2]!, fileName: 'input.csv' }
for await (const rowStream of csvSource.read(file, report, new AbortController().signal)) {
  for await (const _ of chunksOf(rowStream));
}
process.stdout.write(String(peakMemory()))
