import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { median } from '../../statistics.ts'
import { runOn } from '../database.ts'
import { measureCommand } from '../loaders/command.ts'
import { createSluiceLoader } from '../loaders/sluice.ts'
import { serverMeter } from '../server-process.ts'
import type { BenchContext, MeasureReport } from './measure.ts'

const cells = 2_000_000

/** Compares the processor time of PostgreSQL for a load of two million cells with that of `psql \copy` of the same file. */
export async function* wideColumns(context: BenchContext): AsyncGenerator<MeasureReport> {
  const measureServer = await serverMeter(context.peers)
  for (const columns of [10, 100, 1_000]) {
    const file = await writeCells(context.folder, columns)
    const { load } = await createSluiceLoader(context.installation, {
      name: `wide_${columns}_columns`,
      type: 'CSV_UPLOAD',
      file,
    })
    const [copies, loads]: [number[], number[]] = [[], []]
    for (let round = 0; round < context.rounds; round++) {
      await runOn(context.peers, `drop table if exists cells; create table cells (${names(columns, ' integer')})`)
      copies.push(
        await measureServer(() =>
          measureCommand(
            `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy cells from '${file.path}' with (format csv, header)"`,
            { URL: context.peers },
          ),
        ),
      )
      loads.push(await measureServer(load))
    }
    const [copy, loaded] = [median(copies), median(loads)]
    yield {
      title: `${columns} columns × ${cells / columns} rows, processor time of PostgreSQL`,
      figures: [],
      targets: [
        { text: `load (${loaded} ms) / psql \\copy (${copy} ms)`, value: loaded / copy, limit: 1.3, unit: '×' },
      ],
    }
  }
}

const names = (columns: number, suffix = ''): string =>
  Array.from({ length: columns }, (_, index) => `c${index}${suffix}`).join(', ')

/** Writes a CSV file with this many columns of integers. */
async function writeCells(folder: string, columns: number): Promise<{ path: string; size: number }> {
  const path = join(folder, `cells-${columns}.csv`)
  await mkdir(folder, { recursive: true })
  const file = createWriteStream(path)
  file.write(`${names(columns).replaceAll(' ', '')}\n`)
  for (let row = 0; row < cells / columns; row++) {
    const values = Array.from({ length: columns }, (_, column) => 10_000 + (((row * columns + column) * 7919) % 90_000))
    if (!file.write(`${values.join(',')}\n`)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'finish')
  return { path, size: (await stat(path)).size }
}
