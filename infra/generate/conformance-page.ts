import { pipelineTypes } from '@sluice/contracts'
import { rows, type Row, type Without } from '../../apps/pipeline/test/sources/rows.ts'
import { scenes } from '../../apps/pipeline/test/sources/scenes.ts'
import { ofDatabases, ofPostgres, ofStores } from '../../apps/pipeline/test/sources/without.ts'
import { Refusal } from '../refusal.ts'
import type { Artefact } from './artefacts.ts'

interface Held {
  type: string
  what: string
  /** What it is tested against. */
  against: string
  without: Without
}

const others: readonly Held[] = [
  { type: 'OBJECT_STORAGE_BUCKET', what: 'Amazon S3 and compatible', against: 'OpenStack Swift', without: ofStores },
  { type: 'CLOUD_BLOB_STORAGE', what: 'Azure Blob Storage', against: 'Azurite', without: ofStores },
  { type: 'SQL_DATABASE_B', what: 'MySQL and MariaDB', against: 'MariaDB', without: ofDatabases },
  { type: 'SQL_DATABASE_D', what: 'PostgreSQL', against: 'PostgreSQL', without: ofPostgres },
]

/** Types that are not in the suite, and what shows that they work. */
const beside: Readonly<Record<string, string>> = {
  CSV_UPLOAD:
    'An upload has nothing to ask: what files hold, and how much, is tested in `engine/sources/files`, and the same readers read objects of stores above.',
  PARQUET_UPLOAD: 'The same.',
  PUBLIC_DATASET: 'Copied by the reader of `SQL_DATABASE_D`, out of the warehouse itself; `test/api/public-datasets`.',
  SQL_DATABASE_A: 'No server of it runs in the tests: its own are of what it is asked, and of what its types become.',
  SQL_DATABASE_C: 'The same.',
  WAREHOUSE_A: 'Has tests of its own.',
}

const held: readonly Held[] = [
  ...Object.values(scenes).map(({ type, system: what, without }) => ({ type, what, against: 'a stand-in', without })),
  ...others,
].toSorted((one, other) => (one.type < other.type ? -1 : 1))

const names = Object.keys(rows) as Row[]
const cells = (texts: readonly (string | number)[]): string => `| ${texts.join(' | ')} |`

/** docs/conformance.md: every type of pipeline by every row of the conformance suite, as the tests themselves know it. */
export const conformancePage = (): Artefact => {
  const known = new Set([...held.map(({ type }) => type), ...Object.keys(beside)])
  const missing = pipelineTypes.filter((type) => !known.has(type))
  if (missing.length > 0) throw new Refusal(`docs/conformance.md says nothing of ${missing.join(', ')}.`)
  const numbers = names.map((_, index) => index + 1)
  const lines = [
    introduction,
    ...names.map((name, index) => `${index + 1}. ${rows[name]}`),
    '',
    cells(['type', 'source', 'against', ...numbers]),
    cells(['---', '---', '---', ...numbers.map(() => ':-:')]),
    ...held.map(({ type, what, against, without }) =>
      cells([`\`${type}\``, what, against, ...names.map((name) => (without[name] === undefined ? '✓' : '–'))]),
    ),
    '',
    '## What does not apply, and why',
    '',
    ...held.flatMap(({ what, without }) =>
      names.flatMap((name, index) =>
        without[name] === undefined ? [] : [`- ${what}, ${index + 1} (${short(name)}): ${without[name]}`],
      ),
    ),
    '',
    '## Types that are not in the suite',
    '',
    ...Object.entries(beside).map(([type, reason]) => `- \`${type}\`: ${reason}`),
  ]
  return { file: 'docs/conformance.md', content: `${lines.join('\n')}\n` }
}

/** The sentence up to where it says more. */
const short = (name: Row): string => rows[name].split(/[:,]/)[0]!

const introduction = `# What every source is held to

One suite asks every source the same. ✓ is a test that passes in every \`npm test\` (row 22 of most
sources in \`npm run test:long\`); – does not apply, for the reason below. A stand-in speaks over
a socket as the documentation of the system says ([systems](systems.md)); the others are the programs themselves. Written by
\`npm run generate\` from the tests: [rows](../apps/pipeline/test/sources/rows.ts), [systems](../apps/pipeline/test/sources/conformance.ts),
[stores](../apps/pipeline/test/sources/stores.test.ts), [databases](../apps/pipeline/test/sources/databases.test.ts).

A source …
`
