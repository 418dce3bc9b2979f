import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { executeSql, setAutovacuum } from '../database.ts'
import { createSluiceLoader } from '../loaders/sluice-loader.ts'
import { sessionMeter } from '../session-time.ts'
import type { BenchContext, MeasureReport } from './measure.ts'

const cells = 2_000_000
const leastRounds = 15

/**
 * Compares the processor time of PostgreSQL for a load of two million cells with that of `psql \copy` of the same file:
 * for the sessions, and for the processes that write. Autovacuum is off.
 */
export async function* wideColumns(context: BenchContext): AsyncGenerator<MeasureReport> {
  await setAutovacuum(context.peers, 'off')
  try {
    for (const columns of [10, 100, 1_000]) yield await measureColumns(context, columns)
  } finally {
    await setAutovacuum(context.peers, 'on')
  }
}

async function measureColumns({ installation, folder, peers, rounds }: BenchContext, columns: number) {
  const file = await writeCells(folder, columns)
  const source = { name: `wide_${columns}_columns`, type: 'CSV_UPLOAD', file }
  const { load } = await createSluiceLoader(installation, source)
  const [copies, loads] = [await sessionMeter(peers), await sessionMeter(peers)]
  await load()
  for (let round = 0; round < Math.max(leastRounds, rounds); round++) {
    await executeSql(peers, `drop table if exists cells; create table cells (${names(columns, ' integer')})`)
    await copies.measure(() => copyFile(peers, file.path))
    await loads.measure(async () => {
      await load()
      return 0
    })
  }
  const [copied, loaded] = [copies.average(), loads.average()]
  const text = ({ sessions, background }: typeof copied) => `${sessions.toFixed(0)} + ${background.toFixed(0)} ms`
  return {
    title: `${columns} columns × ${cells / columns} rows, processor time of PostgreSQL`,
    figures: [],
    targets: [
      {
        text: `sessions of a load / of psql \\copy (with background processes: ${text(loaded)}; ${text(copied)})`,
        value: loaded.sessions / copied.sessions,
        limit: 1.3,
        unit: '×',
      },
    ],
  } satisfies MeasureReport
}

/** Copies a file to table `cells` with psql. Returns the milliseconds of processor time of its session. */
async function copyFile(url: string, path: string): Promise<number> {
  const script = `
select pg_backend_pid() as pid \\gset
\\copy cells from '${path}' with (format csv, header)
\\setenv BACKEND :pid
\\! cut -d' ' -f1 /proc/$BACKEND/schedstat`
  const running = promisify(execFile)('psql', ['-qXAt', url, '-v', 'ON_ERROR_STOP=1'])
  running.child.stdin!.end(script)
  const { stdout } = await running
  return Number(stdout) / 1e6
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
