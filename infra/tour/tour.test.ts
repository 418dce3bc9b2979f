import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Column } from '@sluice/contracts'
import { writeHealthData } from '../demo/health-data.ts'
import { loadCsv, type CsvLoad, type LoadedCsv } from '../demo/load-csv.ts'
import { signIn, type Session } from '../demo/session.ts'
import { root } from '../paths.ts'
import { tourScript } from './read-tour.ts'
import { pathOfTerminal, runProgram } from './run-program.ts'
import { startStack, type RunningStack } from './running-stack.ts'

let stack: RunningStack
let session: Session

beforeAll(async () => {
  stack = await startStack()
  session = await signIn(stack.identityUrl, 'admin', stack.password)
})
afterAll(async () => {
  await session?.[Symbol.asyncDispose]()
  await stack?.[Symbol.asyncDispose]()
})

const load = (file: string, more: Partial<CsvLoad> = {}): Promise<LoadedCsv> =>
  loadCsv({ pipelineUrl: stack.pipelineUrl, token: session.token, file, ...more })
const typesOf = (columns: readonly Column[]) => columns.map(({ name, dataType }) => `${name} ${dataType}`)

describe('the tour of the README', () => {
  const bash = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].some((file) => existsSync(file)) ? ['bash'] : []

  it.each(['sh', ...bash])('works when pasted into %s, every line of it', async (shell) => {
    const script = join(stack.folder, 'tour.sh')
    await writeFile(script, tourScript(readFileSync(join(root, 'README.md'), 'utf8'), stack))
    const { FORCE_COLOR: _, ...ours } = process.env
    const env = { ...ours, NODE_OPTIONS: '', NO_COLOR: '1', PATH: pathOfTerminal(process.env['PATH']) }
    const { code, stdout, stderr } = await runProgram(shell, ['-e', script], { cwd: stack.folder, env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Loaded 2 rows into tour\w*\.stock\w*\. 1 row did not fit/m)
    expect(stdout).toMatch(/line: 4,\s+reason: '.+',\s+raw: '009,East'/)
    expect(stdout).toContain('facility TEXT, name TEXT, visits SMALLINT, rate DECIMAL, on DATE\n')
    expect(stdout).toContain("[ '007', 'Ávila, North', 120, '0.75', '2026-01-31' ]")
    expect(stdout).toContain("[ '008', 'South', null, '1.50', '2026-02-28' ]")
    expect(stdout).toContain("[ '007', 'VISITS', '202601', 120 ]")
    expect(stdout).toMatch(/^FAILED$/m)
    expect(stdout).toMatch(/^There is no host dhis2\.example\.org/m)
    expect(stdout).toMatch(/^0 2 \* \* \*/m)
    expect(stdout).toMatch(/^http:\/\/localhost:\d+\/account\/invitation\?token=sll_/m)
    for (const pointer of ['/permanent', '/colour', '/name', '/providerSchema'])
      expect(stdout).toContain(`pointer: '${pointer}'`)
    expect(stdout).not.toMatch(/undefined|urn:problem/)
  })
})

describe('the demo', () => {
  const file = () => join(stack.folder, 'health reports.csv')

  it('loads every row of the health data set, with its types', async () => {
    await writeHealthData(file(), { rows: 20_000 })
    const { run, table, data, rejected } = await load(file())
    expect(run).toMatchObject({ status: 'OK', rowsWritten: 20_000 })
    expect(table?.rowCount).toBe(20_000)
    expect(rejected).toEqual([])
    expect(data?.rows).toHaveLength(5)
    expect(typesOf(table!.columns)).toEqual([
      'period DATE',
      'region TEXT',
      'district TEXT',
      'facility_code TEXT',
      'facility_name TEXT',
      'indicator TEXT',
      'value SMALLINT',
      'completeness_percent DECIMAL',
      'submitted_at TIMESTAMPTZ',
      'late BOOLEAN',
      'comment TEXT',
    ])
  })

  it('loads a file of yours as a command, and shows what arrived', async () => {
    const demo = [join(root, 'infra/demo/demo.ts'), file(), '--name', 'A file of mine']
    const { code, stdout, stderr } = await runProgram(process.execPath, demo, { cwd: root, env: stack.env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('● 20,000 rows loaded into demo.a_file_of_mine')
    expect(stdout).toMatch(/^ +facility_code +TEXT$/m)
  })
})
