import { existsSync, globSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type UserSession, signIn } from '@sluice/client'
import type { Column } from '@sluice/contracts'
import { isLongRun, longRunOnly } from '@sluice/testing/long-test-runs'
import { itUnless } from '@sluice/testing/skip-tests'
import { writeHealthData } from '../demo/health-data.ts'
import { loadCsv, type CsvLoad, type LoadedCsv } from '../demo/load-csv.ts'
import { root } from '../paths.ts'
import {
  type Block,
  joinBlocks,
  parseShellBlocks,
  parseOutputs,
  type TourValues,
  buildScript,
} from './read-shell-blocks.ts'
import { terminalPath, runProgram } from './run-program.ts'
import { startStack, type RunningStack } from './running-stack.ts'

let stack: RunningStack
let session: UserSession

beforeAll(async () => {
  stack = await startStack()
  session = await signIn({ identityUrl: stack.identityUrl, username: 'admin', password: stack.password })
})
afterAll(async () => {
  await session?.signOut()
  await stack?.[Symbol.asyncDispose]()
})

const load = (file: string, more: Partial<CsvLoad> = {}): Promise<LoadedCsv> =>
  loadCsv({ pipelineUrl: stack.pipelineUrl, token: session.token, file, ...more })
const typesOf = (columns: readonly Column[]) => columns.map(({ name, dataType }) => `${name} ${dataType}`)

/** Pages with shell blocks that continue the tour, in an order in which no page deletes what a later page needs. */
const pages = [
  'docs/tour.md',
  'docs/search.md',
  'docs/runs.md',
  'docs/schedules.md',
  'docs/lineage.md',
  'docs/checks.md',
  'docs/settings.md',
  'docs/sharing.md',
  'docs/uploads.md',
  'docs/exports.md',
  'docs/queries.md',
  'docs/connect.md',
  'docs/configuration.md',
  'docs/undo.md',
  'docs/sso-for-applications.md',
  'docs/built-in-applications.md',
  'docs/sso-for-providers.md',
  'docs/people.md',
]
/** Pages with shell blocks that run in the folder of the checkout. */
const pagesOfOperators = ['README.md', 'CONTRIBUTING.md', 'docs/operating.md', 'docs/object-stores.md']
const blocks = new Map(
  globSync(['*.md', 'docs/**/*.md'], { cwd: root }).map((page) => [
    page,
    parseShellBlocks(page, readFileSync(join(root, page), 'utf8')),
  ]),
)
const blocksToRun = (of: readonly string[]): Block[] =>
  of.flatMap((page) => blocks.get(page) ?? []).filter(({ notRun }) => notRun === undefined)

/** The `node` of the machine takes twice as long to start as that of the project. The blocks start it 200 times. */
const nodeOfBlocks = isLongRun ? undefined : process.execPath

/** Runs a script in a shell. Returns its output, and fails if it writes errors. */
async function runInShell(shell: string, text: string, cwd: string): Promise<string> {
  const script = join(stack.folder, 'pasted.sh')
  await writeFile(script, text)
  const { FORCE_COLOR: _, ...inherited } = stack.env
  const env = { ...inherited, NODE_OPTIONS: '', NO_COLOR: '1', PATH: terminalPath(process.env['PATH'], nodeOfBlocks) }
  const { code, stdout, stderr } = await runProgram(shell, ['-e', script], { cwd, env })
  // curl's progress output, for commands without --silent.
  const errors = stderr.replaceAll(/^.*\r.*$|^ +% Total .*$|^ +Dload .*$|^ *[\d:\sk-]+$/gm, '').trim()
  expect({ code, errors, stdout: code === 0 ? '' : stdout }).toEqual({ code: 0, errors: '', stdout: '' })
  return stdout
}

const tourValues = (): TourValues => {
  const program = join(import.meta.dirname, 'one-time-code.mjs')
  const code = (steps: number) => `$(node '${program}' "$(echo "$SETUP" | field .secret)" ${steps})`
  return { ...stack, code: code(0), nextCode: code(1) }
}

/** Verifies that the tour's `curl` renews the access token. */
const afterTourScript = `
printf '\\n=== renewal:1\\n'
cp $SIGNED_IN/header header.before
touch -t 200001010000 $SIGNED_IN/header
curl -s $IDENTITY/session -H "$AUTH" | field .activeClient.name
cmp -s header.before $SIGNED_IN/header || echo renewed
`

/** Verifies what docs/undo.md says about a column that is present but empty. */
const afterPagesScript = `
printf '\\n=== empty column:1\\n'
LOAD=$(post data-pipelines "{\\"name\\":\\"Empty $NOW\\",\\"type\\":\\"CSV_UPLOAD\\",\\"disabled\\":false,\\"runTrigger\\":\\"NEVER\\",\\"dataWarehouseTarget\\":{\\"schema\\":{\\"id\\":\\"$SCHEMA\\"}}}" | field .id)
for VISITS in 120 ''; do
  printf "facility,visits\\n007,$VISITS\\n" > visits.csv
  curl -s "$PIPELINE/data-pipelines/$LOAD/file?name=visits.csv" -H "$AUTH" -H 'Content-Type: text/csv' --data-binary @visits.csv | field .name
  curl -s -X POST $PIPELINE/data-pipelines/$LOAD/run -H "$AUTH" | field .data.taskId
  ended .status
done
curl -s $PIPELINE/data-pipelines/$LOAD/data -H "$AUTH" | field .rows
`

describe('the shell blocks in the docs', () => {
  const isBash = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].some((file) => existsSync(file))
  const expectTour = (stdout: string) => {
    expect(stdout).toMatch(/^Loaded 2 rows into tour\w*\.stock\w*\. 1 row did not fit/m)
    expect(stdout).toMatch(/line: 4,\s+reason: '.+',\s+raw: '009,East'/)
    expect(stdout).toContain('facility TEXT, name TEXT, visits SMALLINT, rate DECIMAL, on DATE\n')
    expect(stdout).toContain("[ '007', 'Ávila, North', 120, '0.75', '2026-01-31' ]")
    expect(stdout).toContain("[ '008', 'South', null, '1.50', '2026-02-28' ]")
    expect(stdout).toContain("[ '007', 'VISITS', '202601', 120 ]")
    expect(stdout).toMatch(/^FAILED$/m)
    expect(stdout).toMatch(/^The host dhis2\.example\.org does not exist/m)
    expect(stdout).toMatch(/^0 2 \* \* \*/m)
    expect(stdout).toMatch(/^http:\/\/localhost:\d+\/account\/invitation\?token=sll_/m)
    for (const pointer of ['/permanent', '/colour', '/name', '/providerSchema'])
      expect(stdout).toContain(`pointer: '${pointer}'`)
    expect(stdout).not.toMatch(/undefined|urn:problem/)
  }

  it('are only on the pages that this test runs', () => {
    const withBlocks = [...blocks].filter(([, { length }]) => length > 0).map(([page]) => page)
    expect(withBlocks.toSorted()).toEqual([...pages, ...pagesOfOperators].toSorted())
  })

  itUnless(longRunOnly ?? (isBash ? undefined : 'install bash'))(
    'of docs/tour.md work when pasted into bash',
    async () => {
      const tour = buildScript(blocksToRun(['docs/tour.md']), tourValues())
      expectTour(await runInShell('bash', tour, stack.folder))
    },
  )

  /** Returns the output of each block, with the page and line of the block. */
  async function runInSh(script: string) {
    const outputs = [...parseOutputs(await runInShell('sh', script, stack.folder))]
    const of = (page: string) =>
      outputs
        .filter(([mark]) => mark.startsWith(`${page}:`))
        .map(([, text]) => text)
        .join('\n')
    return { outputs, of }
  }

  it('of docs/tour.md work when pasted into sh, and renew the access token', async () => {
    const { of } = await runInSh(buildScript(blocksToRun(['docs/tour.md']), tourValues()) + afterTourScript)
    expectTour(of('docs/tour.md'))
    expect(of('renewal')).toMatch(/^renewed$/m)
  })

  itUnless(longRunOnly)('of all pages for users work when pasted into sh one page after another', async () => {
    const { outputs, of } = await runInSh(buildScript(blocksToRun(pages), tourValues()) + afterPagesScript)
    expectTour(of('docs/tour.md'))
    const others = outputs.filter(([mark]) => !mark.startsWith('docs/tour.md'))
    for (const [, text] of others) expect(text).not.toMatch(/undefined|urn:problem/)
    // A command prints an empty line if the response lacks the field that the page shows.
    expect(others.filter(([, text]) => text !== '' && text.trim() === '')).toEqual([])
    expect(of('docs/search.md')).toContain('"name":"Ada"')
    expect(of('docs/checks.md')).toMatch(/message: '1 row violates the check\.'[^]*^OK$/m)
    expect(of('docs/settings.md')).toMatch(/^DEFAULT_ACCESS_LEVEL=PRIVATE$[^]*warning: '[^]*^FAILED$[^]*value: ''/m)
    expect(of('docs/undo.md')).toMatch(
      /consultations[^]*rowsAfter: 1[^]*COLUMN_VANISHED[^]*^Loaded 1 row [^]*^Restored [^]*^stock\.csv$[^]*^Loaded 2 rows [^]*^0 2 \* \* \*/m,
    )
    expect(of('empty column')).toMatch(/^OK$[^]*\[ '007', null \]/m)
    expect(of('docs/sharing.md')).toMatch(
      /access: 'READ' }[^]*access: 'READ_WRITE'[^]*'SHARED'[^]*^PUBLIC$[^]*{ metadata: true, data: true }[^]*'007'/m,
    )
    expect(of('docs/sso-for-applications.md')).toMatch(/"ssoClientId":"reports"[^]*"access_token":"/)
    expect(of('docs/built-in-applications.md')).toMatch(/"user_code":"[B-Z]{4}-[B-Z]{4}"/)
    expect(of('docs/sso-for-providers.md')).toContain('"provider":"GENERIC"')
    const people = of('docs/people.md')
    expect(people).toMatch(/\[ 'ida-\d+' \]/)
    expect(people).toMatch(
      /ROLE_SEE_SCHEMA[^]*^INACTIVE\nACTIVE$[^]*\/account\/password[^]*enrolled: true[^]*'nightly /m,
    )
    expect(people).toMatch(/'ida-\d+', 'jon-\d+', 'ola-\d+'/)
  })

  it('of the pages for operators work in the folder of the checkout', async () => {
    const stdout = await runInShell('sh', joinBlocks(blocksToRun(pagesOfOperators)), root)
    expect(stdout.match(/Everything is sealed with "k1"/g)).toHaveLength(2)
  })

  for (const { page, line, notRun } of [...blocks.values()].flat())
    if (notRun !== undefined) itUnless(notRun)(`${page}:${line} works when pasted`, () => {})
})

describe('the demo program', () => {
  const file = () => join(stack.folder, 'health reports.csv')

  it('loads every row of the health data set with the expected column types', async () => {
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

  it('loads a given file from the command line, and prints the number of rows and the columns', async () => {
    const demo = [join(root, 'infra/demo/demo.ts'), file(), '--name', 'A file of mine']
    const { code, stdout, stderr } = await runProgram(process.execPath, demo, { cwd: root, env: stack.env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('● 20,000 rows loaded into demo.a_file_of_mine')
    expect(stdout).toMatch(/^ +facility_code +TEXT$/m)
  })
})
