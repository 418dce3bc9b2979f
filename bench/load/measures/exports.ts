import { createReadStream } from 'node:fs'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { createDataFile } from '../data-files.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { measureCommand } from '../loaders/measure-command.ts'
import type { LoadCost, Loader } from '../loaders/loader.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { readPeakMemory, resetPeakMemory } from '../process-memory.ts'
import { type BenchContext, findFigures, type MeasureReport } from './measure.ts'

const psql = 'psql \\copy to'

/** Measures exports of a loaded table, against psql that copies the same rows to a file. */
export async function* exports(context: BenchContext, megabytes: number): AsyncGenerator<MeasureReport> {
  const { installation, folder, rounds, peers } = context
  const file = await createDataFile(folder, 'wide', megabytes)
  const source = { name: `exported_${megabytes}`, type: 'CSV_UPLOAD', file: { path: file.path, size: file.size } }
  let pipeline = ''
  const loader = await createSluiceLoader(installation, { ...source, onCreated: async (uid) => void (pipeline = uid) })
  await loader.load()
  const { database, table } = loader.table()
  const api = installation.apiPid
  const target = (name: string) => join(folder, `export.${name}`)

  // A program of its own, as psql is: the client must not share the processor time of this process.
  async function download(format: string): Promise<LoadCost> {
    await resetPeakMemory(api)
    const { milliseconds } = await measureCommand(
      'curl --silent --show-error --fail --header "Authorization: Bearer $TOKEN" --output "$FILE" "$URL"',
      {
        TOKEN: await installation.token(),
        FILE: target(format),
        URL: `${installation.pipelineUrl}/api/v1/data-pipelines/${pipeline}/data?format=${format}`,
      },
    )
    return { milliseconds, memory: await readPeakMemory(api) }
  }
  const psqlExport: Loader = {
    name: psql,
    load: () =>
      measureCommand(`psql -qX "$URL" -c "\\copy (select * from ${table}) to '$FILE' with (format csv, header)"`, {
        URL: database,
        FILE: target('psql'),
      }),
  }
  // The other formats of a large table take many minutes, and their memory is the same.
  const formats = megabytes > 1_000 ? ['csv'] : ['csv', 'ndjson', 'parquet', 'arrow']
  await resetPeakMemory(api)
  const idle = await readPeakMemory(api)
  const figures = await runInterleaved(
    [psqlExport, ...formats.map((format): Loader => ({ name: format, load: () => download(format) }))],
    rounds,
    peers,
  )
  const [sluiceDigest, psqlDigest] = await Promise.all([hashCsv(target('csv')), hashCsv(target('psql'))])
  const csv = findFigures(figures, 'csv')
  yield {
    title: `Exports of the wide ${megabytes} MB, against psql`,
    figures,
    bytes: file.size,
    targets: [
      { text: 'rows of the CSV that differ from psql', value: sluiceDigest === psqlDigest ? 0 : 1, limit: 0, unit: '' },
      {
        text: `time as CSV / ${psql} (0.7 × its rows/s)`,
        value: csv.milliseconds / findFigures(figures, psql).milliseconds,
        limit: 1 / 0.7,
        unit: '×',
      },
      {
        text: 'growth of the API over idle, as CSV',
        value: Math.max(0, csv.memory - idle),
        limit: 60,
        unit: 'MiB',
      },
    ],
  }
}

/**
 * Returns a digest of the lines of a CSV file, without the differences in line ends and in the spelling of booleans.
 */
async function hashCsv(path: string): Promise<string> {
  const hash = createHash('sha256')
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'utf8' })) {
    const text = rest + (chunk as string)
    const end = text.lastIndexOf('\n') + 1
    rest = text.slice(end)
    hash.update(
      text
        .slice(0, end)
        .replaceAll('\r\n', '\n')
        .replaceAll(/(?<=,)true(?=[,\n])/g, 't')
        .replaceAll(/(?<=,)false(?=[,\n])/g, 'f'),
    )
  }
  return hash.update(rest).digest('hex')
}
