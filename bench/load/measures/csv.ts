import { makeFile } from '../data/make-file.ts'
import type { KindName } from '../data/kinds.ts'
import { peersFor } from '../contenders/peers.ts'
import { product } from '../contenders/product.ts'
import { inTurns } from '../rounds.ts'
import { figuresOf, type Parts, ratio, type Report, right } from './measure.ts'

const psql = 'psql \\copy'

/** Megabytes and the ratio to psql that is wanted there; between them it has to be the larger one. */
const wanted = (megabytes: number): number => (megabytes >= 1000 ? 0.45 : megabytes <= 10 ? 1.5 : 1)

/** CSV files of each size, by every tool that is here and by the product. */
export async function* csv(parts: Parts, kinds: KindName[]): AsyncGenerator<Report> {
  const rates: number[] = []
  for (const kind of kinds)
    for (const megabytes of parts.sizes) {
      const file = await makeFile(parts.folder, kind, megabytes)
      const contenders = [
        ...(await peersFor(file, parts.peers)),
        await product(parts.installation, { name: `${kind}_${megabytes}`, type: 'CSV_UPLOAD', file }),
      ]
      const figures = await inTurns(contenders, parts.rounds, parts.peers)
      const own = figuresOf(figures, 'Sluice')
      if (kind === 'wide') rates.push(file.size / own.milliseconds)
      yield {
        title: `CSV, ${kind}, ${megabytes} MB`,
        figures,
        bytes: file.size,
        targets: [
          right(figures),
          { text: `time / ${psql}`, value: ratio(figures, 'Sluice', psql), limit: wanted(megabytes), unit: '×' },
          { text: 'peak memory of the worker', value: own.memory, limit: 150, unit: 'MiB' },
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
