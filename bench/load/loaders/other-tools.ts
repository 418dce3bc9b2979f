import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../../infra/paths.ts'
import { type DataFile, tableKinds } from '../data-files.ts'
import { executeSql } from '../database.ts'
import { isInstalled, measureCommand } from './measure-command.ts'
import type { Loader } from './loader.ts'

const node = `${process.execPath} --no-warnings`
const script = (name: string): string => `${node} ${join(root, 'bench/load/loaders/scripts', name)}`
const copyFromStdin = 'psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy t from pstdin with (format csv, header)"'

/** Shell commands that load "$FILE" into table t of the database "$URL". The table exists and has its column types. */
const commands: Record<string, { needs?: string; command: string; maxBytes?: number }> = {
  'psql \\copy': {
    needs: 'psql',
    command: `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy t from '$FILE' with (format csv, header)"`,
  },
  'server-side COPY': {
    needs: 'psql',
    command: `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "copy t from '$FILE' with (format csv, header)"`,
  },
  'DuckDB through a pipe': { needs: 'psql', command: `${script('duckdb.ts')} "$FILE" | ${copyFromStdin}` },
  'csv-parse + COPY': { command: `${script('csv-parse.ts')} "$FILE"`, maxBytes: 400e6 },
  pgloader: { needs: 'pgloader', command: `pgloader --quiet "$LOADFILE"`, maxBytes: 400e6 },
}

/** Returns the installed tools that can load the file within minutes. */
export async function availableTools(file: DataFile, database: string): Promise<Loader[]> {
  const tools = Object.entries(commands).filter(
    ([, { needs, maxBytes = Infinity }]) => (!needs || isInstalled(needs)) && file.size <= maxBytes,
  )
  const loadFile = await writeLoadFile(file, database)
  return tools.map(([name, { command }]) => ({
    name,
    prepare: () => recreateTable(database, file),
    load: () => measureCommand(command, { URL: database, FILE: file.path, LOADFILE: loadFile }),
    table: () => ({ database, table: 't' }),
  }))
}

function recreateTable(database: string, { kind }: DataFile): Promise<void> {
  return executeSql(database, `drop table if exists t; create table t (${tableKinds[kind].columns.join(', ')})`)
}

/**
 * Writes the load file of pgloader: the same columns, empty fields are null, batch sizes as its manual recommends for
 * large files.
 */
async function writeLoadFile({ path, kind }: DataFile, database: string): Promise<string> {
  const columns = tableKinds[kind].columns.map((column) => column.split(' ')[0])
  const text = `LOAD CSV FROM '${path}' (${columns.map((name) => `${name} [null if blanks]`).join(', ')})
INTO ${database.replace('?sslmode=disable', '')} TARGET TABLE public.t (${columns.join(', ')})
WITH skip header = 1, fields optionally enclosed by '"', fields escaped by double-quote, fields terminated by ',',
  workers = 2, concurrency = 1, batch rows = 25000, prefetch rows = 50000;
`
  const file = `${path}.load`
  await writeFile(file, text)
  return file
}
