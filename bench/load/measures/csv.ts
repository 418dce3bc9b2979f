import { createDataFile, type KindName } from '../data-files.ts'
import { availableTools } from '../loaders/other-tools.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { findFigures, type BenchContext, ratio, type MeasureReport, correctnessTarget } from './measure.ts'

const psql = 'psql \\copy'

/** Returns the maximum ratio to psql for a file of this many megabytes. */
const maxRatio = (megabytes: number): number => (megabytes >= 1000 ? 0.45 : megabytes <= 10 ? 1.5 : 1)

/** Measures CSV files of each size with every installed tool and Sluice. */
export async function* csv(context: BenchContext, kinds: KindName[]): AsyncGenerator<MeasureReport> {
  const rates: number[] = []
  for (const kind of kinds)
    for (const megabytes of context.sizes) {
      const file = await createDataFile(context.folder, kind, megabytes)
      const loaders = [
        ...(await availableTools(file, context.peers)),
        await createSluiceLoader(context.installation, { name: `${kind}_${megabytes}`, type: 'CSV_UPLOAD', file }),
      ]
      const figures = await runInterleaved(loaders, context.rounds, context.peers)
      const sluice = findFigures(figures, 'Sluice')
      if (kind === 'wide') rates.push(file.size / sluice.milliseconds)
      yield {
        title: `CSV, ${kind}, ${megabytes} MB`,
        figures,
        bytes: file.size,
        targets: [
          correctnessTarget(figures),
          { text: `time / ${psql}`, value: ratio(figures, 'Sluice', psql), limit: maxRatio(megabytes), unit: '×' },
          { text: 'peak memory of the worker', value: sluice.memory, limit: 150, unit: 'MiB' },
        ],
      }
    }
  if (rates.length > 1)
    yield {
      title: 'CSV, wide: throughput from the smallest file to the largest',
      figures: [],
      targets: [
        {
          text: 'rate at the smallest / rate at the largest',
          value: rates[0]! / rates.at(-1)!,
          limit: 1.25,
          unit: '×',
        },
      ],
    }
}
