import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { existsSync, globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { serviceClient } from '@sluice/client'
import { pipelineOperations, type QueryResult } from '@sluice/contracts'
import { loadCsv, type LoadedCsv } from '../../../../infra/demo/load-csv.ts'
import { startInstallation, type Installation } from './installation.ts'
import { comparable, readSimply, typeOf } from './reference-csv-reader.ts'

const given = join(import.meta.dirname, '../../../../../shared/data/covid-19')
const files = globSync('*.csv', { cwd: given }).toSorted()

let installation: Installation
let token: string
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-main-job-'))
  installation = await startInstallation()
  const { identity } = installation
  const { id } = await identity.client()
  token = (await identity.person(id, ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE'])).token
})
afterAll(async () => {
  await installation?.stop()
  await rm(folder, { recursive: true })
})

const load = (file: string): Promise<LoadedCsv> =>
  loadCsv({ pipelineUrl: installation.pipelineUrl, token: async () => token, file, firstRows: 10_000 })

/** Every row of the table, also beyond its first page. */
async function allRows({ pipeline, data }: LoadedCsv): Promise<unknown[][]> {
  const service = serviceClient({ baseUrl: installation.pipelineUrl, token: () => token })
  const rows = [...data!.rows]
  for (let page = 2; rows.length % 10_000 === 0 && rows.length > 0; page += 1) {
    const more = await service.call(pipelineOperations.dataPipelines.data, {
      params: { uid: pipeline.id },
      query: { page, pageSize: 10_000 },
    })
    if (more.rows.length === 0) break
    rows.push(...more.rows)
  }
  return rows
}

/** Rows, types and values are the file's, cell by cell. */
async function expectLoaded(file: string): Promise<LoadedCsv> {
  const { header, rows } = readSimply(await readFile(file, 'utf8'))
  const loaded = await load(file)
  expect([loaded.run.status, loaded.run.message]).toEqual(['OK', expect.stringMatching(/^Loaded /)])
  expect(loaded.run).toMatchObject({ rowsWritten: rows.length, attempt: 1, progress: { rowsRejected: 0 } })
  expect(loaded.table).toMatchObject({ rowCount: rows.length, columnCount: header.length })
  const { columns } = loaded.data as QueryResult
  const types = header.map((_name, index) => typeOf(rows.map((row) => row[index]!)))
  expect(columns.map(({ label, dataType }) => [label, dataType])).toEqual(
    header.map((name, index) => [name, types[index]]),
  )
  const compared = (all: unknown[][]) => all.map((row) => row.map((value, index) => comparable(value, types[index]!)))
  expect(compared(await allRows(loaded))).toEqual(compared(rows))
  return loaded
}

/** Some of everything: leading zeros, quotes, line breaks, other scripts, numbers of every size, gaps. */
function generated(rows: number): string {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
  const names = [
    'Ávila, North',
    'say "ah"',
    'two\nlines',
    '保健所',
    'O’Brien\\N',
    '  spaced  ',
    "Robert'); drop table x;--",
  ]
  const lines = Array.from({ length: rows }, (_unused, row) => {
    const on = new Date(Date.UTC(2020, 0, 1 + (row % 1500))).toISOString()
    const gap = row % 17 === 5
    return [
      row,
      String(row % 1000).padStart(5, '0'),
      gap ? '' : quoted(names[row % names.length]!),
      gap ? '' : (row / 8 - 100).toFixed(row % 4),
      (BigInt(row) * 700_000_000_000_003n).toString(),
      on.slice(0, 10),
      `${on.slice(0, 19)}Z`,
      row % 2 === 0,
    ].join(',')
  })
  return `Id,Facility code,Name,Rate (%),Big,On,Reported at,Late\n${lines.join('\n')}\n`
}

describe('end to end: CSV load', () => {
  it('loads a generated file unchanged, and again after it changed', async () => {
    const file = join(folder, 'Everything.csv')
    await writeFile(file, generated(12_000))
    const first = await expectLoaded(file)
    expect(first.data!.columns.map(({ name }) => name)).toEqual([
      'id',
      'facility_code',
      'name',
      'rate',
      'big',
      'on',
      'reported_at',
      'late',
    ])
    await writeFile(file, generated(3_000))
    const second = await expectLoaded(file)
    expect(second.pipeline.id).toBe(first.pipeline.id)
    expect(second.run.taskId).not.toBe(first.run.taskId)
  })

  it('keeps the old rows when a file does not fit, and lists the rejected rows with their lines', async () => {
    const file = join(folder, 'Broken.csv')
    await writeFile(file, 'a,b\n1,2\n3,4\n')
    const good = await load(file)
    await writeFile(file, `a,b\n${'1,2\n'.repeat(150)}${'1\n'.repeat(50)}`)
    const bad = await load(file)
    expect(bad.run.status).toBe('FAILED')
    expect(bad.rejected[0]).toMatchObject({ line: 152, raw: '1' })
    const service = serviceClient({ baseUrl: installation.pipelineUrl, token: () => token })
    const { rows } = await service.call(pipelineOperations.dataPipelines.data, { params: { uid: bad.pipeline.id } })
    expect(rows).toEqual(good.data!.rows)
  })

  if (existsSync(given)) {
    it.each(files)('loads %s cell by cell', async (file) => {
      const { table } = await expectLoaded(join(given, file))
      expect(table!.name).toBe(basename(file, '.csv').replaceAll('-', '_'))
    })
  } else {
    it.skip('loads the COVID-19 data: there is no ../shared/data/covid-19 beside this checkout', () => {})
  }

  it('stops API and worker with exit code 0 on SIGTERM, and no log contains a secret or an error', async () => {
    const { api, worker, identity } = installation
    const said = [api.output(), worker.output(), identity.log()].join('')
    expect(said).toContain('dataPipelines.upload')
    for (const secret of [token, identity.adminToken]) expect(said).not.toContain(secret)
    expect(said).not.toMatch(/"level":"(error|fatal)"/)
    expect(await Promise.all([api.stop('SIGTERM'), worker.stop('SIGTERM')])).toEqual([0, 0])
  })
})
