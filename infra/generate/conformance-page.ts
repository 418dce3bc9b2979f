import { pipelineTypes } from '@sluice/contracts'
import { rules, type Rule, type UnsupportedRules } from '../../packages/connectors/test/conformance-rules.ts'
import { connectorFixtures } from '../../packages/connectors/test/connector-fixtures.ts'
import {
  unsupportedByDatabases,
  unsupportedByPostgres,
  unsupportedByStores,
} from '../../packages/connectors/test/unsupported-rules.ts'
import { UserError } from '../user-error.ts'
import type { Artefact } from './artefacts.ts'

interface Held {
  type: string
  what: string
  /** The server that the tests run against. */
  against: string
  unsupportedRules: UnsupportedRules
}

const others: readonly Held[] = [
  {
    type: 'OBJECT_STORAGE_BUCKET',
    what: 'Amazon S3 and compatible',
    against: 'OpenStack Swift',
    unsupportedRules: unsupportedByStores,
  },
  { type: 'CLOUD_BLOB_STORAGE', what: 'Azure Blob Storage', against: 'Azurite', unsupportedRules: unsupportedByStores },
  { type: 'SQL_DATABASE_B', what: 'MySQL and MariaDB', against: 'MariaDB', unsupportedRules: unsupportedByDatabases },
  { type: 'SQL_DATABASE_D', what: 'PostgreSQL', against: 'PostgreSQL', unsupportedRules: unsupportedByPostgres },
]

/** Types outside the suite, and their tests. */
const beside: Readonly<Record<string, string>> = {
  CSV_UPLOAD:
    'An upload sends no requests. The tests of `packages/file-formats` cover its readers, which also read the objects of stores above.',
  PARQUET_UPLOAD: 'The same.',
  PUBLIC_DATASET: 'Copied from the warehouse by the reader of `SQL_DATABASE_D`; tested in `test/api/public-datasets`.',
  SQL_DATABASE_A: 'No server of it runs in the tests. Its own tests cover its queries and the conversion of its types.',
  SQL_DATABASE_C: 'The same.',
  WAREHOUSE_A: 'Has its own tests.',
}

const held: readonly Held[] = [
  ...Object.values(connectorFixtures).map(({ type, system: what, unsupportedRules }) => ({
    type,
    what,
    against: 'a stand-in',
    unsupportedRules,
  })),
  ...others,
].toSorted((one, other) => (one.type < other.type ? -1 : 1))

const names = Object.keys(rules) as Rule[]
const cells = (texts: readonly (string | number)[]): string => `| ${texts.join(' | ')} |`

/** Writes docs/conformance.md: every pipeline type by every rule of the conformance suite. */
export const generateConformancePage = (): Artefact => {
  const known = new Set([...held.map(({ type }) => type), ...Object.keys(beside)])
  const missing = pipelineTypes.filter((type) => !known.has(type))
  if (missing.length > 0) throw new UserError(`docs/conformance.md lacks ${missing.join(', ')}.`)
  const numbers = names.map((_, index) => index + 1)
  const lines = [
    introduction,
    ...names.map((name, index) => `${index + 1}. ${rules[name]}`),
    '',
    cells(['type', 'source', 'against', ...numbers]),
    cells(['---', '---', '---', ...numbers.map(() => ':-:')]),
    ...held.map(({ type, what, against, unsupportedRules }) =>
      cells([`\`${type}\``, what, against, ...names.map((name) => (unsupportedRules[name] === undefined ? '✓' : '–'))]),
    ),
    '',
    '## What does not apply, and why',
    '',
    ...held.flatMap(({ what, unsupportedRules }) =>
      names.flatMap((name, index) =>
        unsupportedRules[name] === undefined
          ? []
          : [`- ${what}, ${index + 1} (${short(name)}): ${unsupportedRules[name]}`],
      ),
    ),
    '',
    '## Types that are not in the suite',
    '',
    ...Object.entries(beside).map(([type, reason]) => `- \`${type}\`: ${reason}`),
  ]
  return { file: 'docs/conformance.md', content: `${lines.join('\n')}\n` }
}

/** Returns the rule up to its first colon or comma. */
const short = (name: Rule): string => rules[name].split(/[:,]/)[0]!

const introduction = `# Conformance of sources

After this page you know which behaviour is tested for each source. One suite tests every source with the same rules.
\`npm run generate\` writes this page from the tests: [rules](../packages/connectors/test/conformance-rules.ts),
[systems](../packages/connectors/test/conformance.ts), [stores](../packages/connectors/src/object-store/test/conformance.test.ts),
[databases](../packages/connectors/src/database-connector/test/conformance.test.ts).

| Sign | Meaning |
|---|---|
| ✓ | the test passes in every \`npm test\` (rule 22 of most sources in \`npm run test:long\`) |
| – | the rule does not apply, for the reason below |
| a stand-in | a server that follows the documentation of the system ([systems](systems.md)); the others are the programs themselves |

A source …
`
