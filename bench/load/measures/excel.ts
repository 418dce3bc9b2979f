import { execFileSync } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../../infra/paths.ts'
import { median } from '../../statistics.ts'
import { excelColumns, createWorkbookFile } from '../excel-file.ts'
import { executeSql } from '../database.ts'
import { runInterleaved } from '../interleaved-rounds.ts'
import { isInstalled, measureCommand } from '../loaders/measure-command.ts'
import type { Loader } from '../loaders/loader.ts'
import { createMeasuredLoader } from '../loaders/measured-loader.ts'
import { type BenchContext, findFigures, type MeasureReport, ratio } from './measure.ts'

export const excelRows = 100_000
const psql = 'psql \\copy of the CSV'
const openpyxl = 'openpyxl | psql \\copy'
const copyFromStdin = 'psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy t from pstdin with (format csv, header)"'

/** Commands that load "$FILE", the workbook or the CSV of its rows, into table t of the database "$URL". */
const commands: Record<string, { isMissing?: () => boolean; file: 'workbook' | 'csv'; command: string }> = {
  [psql]: {
    file: 'csv',
    command: `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy t from '$FILE' with (format csv, header)"`,
  },
  [openpyxl]: {
    isMissing: () => !hasOpenpyxl(),
    file: 'workbook',
    command: `/usr/bin/python3 ${join(root, 'bench/load/loaders/scripts/openpyxl-to-csv.py')} "$FILE" | ${copyFromStdin}`,
  },
  'xlsx2csv | psql \\copy': {
    isMissing: () => !isInstalled('xlsx2csv'),
    file: 'workbook',
    command: `xlsx2csv "$FILE" | ${copyFromStdin}`,
  },
}

/** Measures a workbook of 20 columns of all types, against other readers that write CSV for psql. */
export async function* excel(context: BenchContext): AsyncGenerator<MeasureReport> {
  const { peers, folder, rounds } = context
  const files = await createWorkbookFile(folder, excelRows)
  const tools = Object.entries(commands)
    .filter(([, { isMissing }]) => !isMissing?.())
    .map(
      ([name, { command, file }]): Loader => ({
        name,
        prepare: () => executeSql(peers, `drop table if exists t; create table t (${excelColumns.join(', ')})`),
        load: () => measureCommand(command, { URL: peers, FILE: files[file] }),
        table: () => ({ database: peers, table: 't' }),
      }),
    )
  const sluice = await createMeasuredLoader(context, 'Excel', files.workbook)
  const asCsv = await createMeasuredLoader(context, 'CSV of the same rows', files.csv)
  const figures = await runInterleaved([...tools, asCsv, sluice], rounds, peers)
  const cpu = median(sluice.workerMs)
  yield {
    title: `Excel, ${excelRows.toLocaleString('en')} rows of ${excelColumns.length} columns, texts, numbers and dates`,
    figures,
    bytes: (await stat(files.workbook)).size,
    targets: [
      {
        text: 'wrong loads of the product',
        value: findFigures(figures, 'Excel').hasOtherRows ? 1 : 0,
        limit: 0,
        unit: '',
      },
      { text: `time / ${openpyxl}`, value: ratio(figures, 'Excel', openpyxl), limit: 0.2, unit: '×' },
      { text: `time / ${psql}`, value: ratio(figures, 'Excel', psql), limit: 3, unit: '×' },
      {
        text: `processor time of the worker (${cpu} ms) / with CSV (${median(asCsv.workerMs)} ms)`,
        value: cpu / median(asCsv.workerMs),
        limit: 5,
        unit: '×',
      },
    ],
  }
}

function hasOpenpyxl(): boolean {
  try {
    execFileSync('/usr/bin/python3', ['-c', 'import openpyxl'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
