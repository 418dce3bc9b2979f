import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../../../infra/paths.ts'
import type { DataFile } from '../data/make-file.ts'
import { kinds } from '../data/kinds.ts'
import { runOn } from '../database.ts'
import { has, measureCommand } from './command.ts'
import type { Contender } from './contender.ts'

const node = `${process.execPath} --no-warnings`
const peer = (name: string): string => `${node} ${join(root, 'bench/load/peers', name)}`
const copyIn = 'psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy t from pstdin with (format csv, header)"'

/** How a shell loads "$FILE" into table t of the database "$URL"; the table has its types already. */
const commands: Record<string, { needs?: string; command: string; largest?: number }> = {
  'psql \\copy': {
    needs: 'psql',
    command: `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "\\copy t from '$FILE' with (format csv, header)"`,
  },
  'server-side COPY': {
    needs: 'psql',
    command: `psql -qX "$URL" -v ON_ERROR_STOP=1 -c "copy t from '$FILE' with (format csv, header)"`,
  },
  'DuckDB through a pipe': { needs: 'psql', command: `${peer('duckdb.ts')} "$FILE" | ${copyIn}` },
  'csv-parse + COPY': { command: `${peer('csv-parse.ts')} "$FILE"`, largest: 400e6 },
  pgloader: { needs: 'pgloader', command: `pgloader --quiet "$LOADFILE"`, largest: 400e6 },
}

/** The tools that are on this machine, for files that they can load within minutes. */
export async function peersFor(file: DataFile, database: string): Promise<Contender[]> {
  const usable = Object.entries(commands).filter(
    ([, { needs, largest = Infinity }]) => (!needs || has(needs)) && file.size <= largest,
  )
  const loadFile = await loadFileOf(file, database)
  return usable.map(([name, { command }]) => ({
    name,
    prepare: () => freshTable(database, file),
    load: () => measureCommand(command, { URL: database, FILE: file.path, LOADFILE: loadFile }),
    table: () => ({ database, table: 't' }),
  }))
}

function freshTable(database: string, { kind }: DataFile): Promise<void> {
  return runOn(database, `drop table if exists t; create table t (${kinds[kind].columns.join(', ')})`)
}

/** What pgloader is told: the same columns, empty is null, batches as its manual suggests for large files. */
async function loadFileOf({ path, kind }: DataFile, database: string): Promise<string> {
  const columns = kinds[kind].columns.map((column) => column.split(' ')[0])
  const text = `LOAD CSV FROM '${path}' (${columns.map((name) => `${name} [null if blanks]`).join(', ')})
INTO ${database.replace('?sslmode=disable', '')} TARGET TABLE public.t (${columns.join(', ')})
WITH skip header = 1, fields optionally enclosed by '"', fields escaped by double-quote, fields terminated by ',',
  workers = 2, concurrency = 1, batch rows = 25000, prefetch rows = 50000;
`
  const file = `${path}.load`
  await writeFile(file, text)
  return file
}
