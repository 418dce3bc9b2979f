import { pipelineTypes } from '@sluice/contracts'
import { rules, type Rule, type UnsupportedRules } from '../../packages/connectors/test/conformance-rules.ts'
import { connectorFixtures } from '../../packages/connectors/test/all-connector-fixtures.ts'
import {
  unsupportedByDatabases,
  unsupportedByPostgres,
  unsupportedByStores,
} from '../../packages/connectors/test/unsupported-conformance-rules.ts'
import { UserError } from '../user-error.ts'
import type { Artefact } from './generated-files.ts'

interface TestedType {
  type: string
  source: string
  /** The server that the tests run against. */
  testServer: string
  unsupportedRules: UnsupportedRules
}

const storesAndDatabases: readonly TestedType[] = [
  {
    type: 'OBJECT_STORAGE_BUCKET',
    source: 'Amazon S3 and compatible',
    testServer: 'OpenStack Swift',
    unsupportedRules: unsupportedByStores,
  },
  {
    type: 'CLOUD_BLOB_STORAGE',
    source: 'Azure Blob Storage',
    testServer: 'Azurite',
    unsupportedRules: unsupportedByStores,
  },
  {
    type: 'SQL_DATABASE_B',
    source: 'MySQL and MariaDB',
    testServer: 'MariaDB',
    unsupportedRules: unsupportedByDatabases,
  },
  { type: 'SQL_DATABASE_D', source: 'PostgreSQL', testServer: 'PostgreSQL', unsupportedRules: unsupportedByPostgres },
]

/** Types that the conformance suite does not test, with the tests that cover them. */
const typesOutsideSuite: Readonly<Record<string, string>> = {
  CSV_UPLOAD:
    'An upload sends no requests. The tests of `packages/file-formats` cover its readers, which also read the objects of stores above.',
  PARQUET_UPLOAD: 'The same.',
  PUBLIC_DATASET: 'Copied from the warehouse by the reader of `SQL_DATABASE_D`; tested in `test/api/public-datasets`.',
  SQL_DATABASE_A: 'No server of it runs in the tests. Its own tests cover its queries and the conversion of its types.',
  SQL_DATABASE_C: 'The same.',
  WAREHOUSE_A: 'Has its own tests.',
}

const testedTypes: readonly TestedType[] = [
  ...Object.values(connectorFixtures).map(({ type, system: source, unsupportedRules }) => ({
    type,
    source,
    testServer: 'a stand-in',
    unsupportedRules,
  })),
  ...storesAndDatabases,
].toSorted((one, other) => (one.type < other.type ? -1 : 1))

const names = Object.keys(rules) as Rule[]
const cells = (texts: readonly (string | number)[]): string => `| ${texts.join(' | ')} |`

/** Generates docs/conformance.md: every pipeline type by every rule of the conformance suite. */
export const generateConformancePage = (): Artefact => {
  const known = new Set([...testedTypes.map(({ type }) => type), ...Object.keys(typesOutsideSuite)])
  const missing = pipelineTypes.filter((type) => !known.has(type))
  if (missing.length > 0)
    throw new UserError(`docs/conformance.md lacks ${missing.join(', ')}. Add these types to conformance-page.ts.`)
  const numbers = names.map((_, index) => index + 1)
  const lines = [
    introduction,
    ...names.map((name, index) => `${index + 1}. ${rules[name]}`),
    '',
    cells(['type', 'source', 'against', ...numbers]),
    cells(['---', '---', '---', ...numbers.map(() => ':-:')]),
    ...testedTypes.map(({ type, source, testServer, unsupportedRules }) =>
      cells([
        `\`${type}\``,
        source,
        testServer,
        ...names.map((name) => (unsupportedRules[name] === undefined ? '✓' : '–')),
      ]),
    ),
    '',
    '## What does not apply, and why',
    '',
    ...testedTypes.flatMap(({ source, unsupportedRules }) =>
      names.flatMap((name, index) =>
        unsupportedRules[name] === undefined
          ? []
          : [`- ${source}, ${index + 1} (${shortRule(name)}): ${unsupportedRules[name]}`],
      ),
    ),
    '',
    '## Types that are not in the suite',
    '',
    ...Object.entries(typesOutsideSuite).map(([type, reason]) => `- \`${type}\`: ${reason}`),
  ]
  return { file: 'docs/conformance.md', content: `${lines.join('\n')}\n` }
}

/** Returns the rule up to its first colon or comma. */
const shortRule = (name: Rule): string => rules[name].split(/[:,]/)[0]!

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
