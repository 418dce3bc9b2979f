import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sharedProblems, type KnownProblem } from '@sluice/http-server'
import { identityProblems } from '../../apps/identity/src/problem-catalogue.ts'
import { pipelineProblems } from '../../apps/pipeline/src/problems/problem-catalogue.ts'
import { runCodes } from '../../apps/pipeline/src/problems/run-error-codes.ts'
import { root } from '../paths.ts'
import { UserError } from '../user-error.ts'
import type { Artefact } from './generated-files.ts'

/** The sources of the pipeline service. */
const pipelineFolders = [
  'apps/pipeline',
  ...['row-stream', 'file-formats', 'connectors', 'warehouses'].map((name) => `packages/${name}`),
]

const catalogues: { title: string; folders: string[]; problems: readonly KnownProblem[] }[] = [
  { title: 'Both services', folders: ['packages/http-server'], problems: sharedProblems },
  { title: 'Identity', folders: ['apps/identity'], problems: identityProblems },
  { title: 'Pipeline', folders: pipelineFolders, problems: pipelineProblems },
]

/** Generates docs/problems.md. Throws a `UserError` if the catalogues and the codes in the sources differ. */
export const generateProblemsPage = (): Artefact => {
  const errors = catalogues.flatMap(({ folders, problems }) =>
    findCatalogueErrors(folders[0]!, problems, folders.flatMap(readSources)),
  )
  if (errors.length > 0) throw new UserError(errors.join('\n'))
  const { unknown, unused } = findRunCodeErrors(runCodes, pipelineFolders.flatMap(readSources))
  if (unknown.length > 0)
    throw new UserError(
      `Runs fail with ${unknown.join(', ')}. Add these codes to apps/pipeline/src/problems/run-error-codes.ts.`,
    )
  if (unused.length > 0)
    throw new UserError(`No run fails with ${unused.join(', ')}. Remove these codes from run-error-codes.ts.`)
  const sections = catalogues.map(({ title, problems }) => `## ${title}\n\n${formatProblems(problems)}\n`)
  return { file: 'docs/problems.md', content: `${introduction}\n${sections.join('\n')}\n${formatRunCodes(runCodes)}` }
}

const introduction = `# Problems

After this page you can look up every error code of both services and know what to do next.

A failed request returns \`application/problem+json\` (RFC 9457):

\`\`\`json
{
  "type": "urn:problem:stale",
  "title": "The object has changed since it was read.",
  "status": 412,
  "code": "stale",
  "requestId": "…"
}
\`\`\`

| Field | Meaning |
|---|---|
| \`code\`, \`status\` | Stable. Programs should act on these. \`type\` is \`urn:problem:<code>\`. |
| \`title\`, \`detail\` | Text for people. It may change between versions. |
| \`errors\` | Every field that is wrong, by JSON pointer. |
| \`requestId\` | The id of the request in the logs. |

OAuth endpoints below \`/oidc\` return the errors of RFC 6749 instead. \`npm run generate\` writes this page from the
catalogues in the sources.
`

const formatRunCodes = (groups: typeof runCodes): string =>
  `## Failed runs

The \`errorCode\` of a failed run is one of these codes, and its \`message\` says what failed, where, why and what to do.
Connection tests return the same codes as \`errorCode\`; previews and look-ups return \`source-unreadable\` for the same
reasons.

The column *Retry* says what Sluice repeats before the run fails:

- *request*: the request to an HTTP API or object store, up to six times with growing pauses. Connections to databases are
  not repeated.
- *run*: the whole run, up to five times, seconds to minutes apart.

A run with any other code fails at once. Its schedule starts the next run at the next time.

${groups.map(({ title, codes }) => `### ${title}\n\n| Code | Meaning | Retry |\n|---|---|---|\n${formatRows(codes)}\n`).join('\n')}`

/** The scope of the retries after a failure with each of these codes. */
const retriesByRunCode: Readonly<Record<string, string>> = {
  HOST_UNKNOWN: 'request',
  CONNECTION_REFUSED: 'request',
  CONNECTION_TIMEOUT: 'request',
  CONNECTION_LOST: 'request',
  RATE_LIMITED: 'request',
  SOURCE_FAILED: 'request',
  TARGET_BUSY: 'request',
  TARGET_TIMEOUT: 'request',
  TARGET_FAILED: 'request',
  READER_ENDED: 'run',
  DATABASE_UNAVAILABLE: 'run',
  WAREHOUSE_BUSY: 'run',
  TABLE_BUSY: 'run',
  WAREHOUSE_UNAVAILABLE: 'run, for a day',
}

const formatRows = (codes: Readonly<Record<string, string>>): string =>
  Object.entries(codes)
    .map(([code, text]) => `| \`${code}\` | ${text} | ${retriesByRunCode[code] ?? ''} |`)
    .join('\n')

/** Returns the codes that the sources use and the catalogue lacks, and those of the catalogue that no source uses. */
export function findRunCodeErrors(
  groups: readonly { codes: Readonly<Record<string, string>> }[],
  sources: string[],
): { unknown: string[]; unused: string[] } {
  const known = new Set(groups.flatMap(({ codes }) => Object.keys(codes)))
  const thrown = /new (?:Source|Destination|Load|Variable|Warehouse|File)Problem\(\s*'(\w+)'/g
  const used = sources.flatMap((text) => [...text.matchAll(thrown)].map(([, code = '']) => code))
  const text = sources.join('\n')
  return {
    unknown: [...new Set(used)].filter((code) => !known.has(code)),
    unused: [...known].filter((code) => !new RegExp(`['\\s]${code}(?:'|:)`).test(text)),
  }
}

const formatProblems = (problems: readonly KnownProblem[]): string =>
  [
    '| Code | Status | Title | When |',
    '|---|---|---|---|',
    ...problems.map(({ code, status, title, when }) => `| \`${code}\` | ${status} | ${title} | ${when} |`),
  ].join('\n')

const readSources = (folder: string): string[] =>
  globSync('src/**/*.ts', { cwd: join(root, folder) })
    .filter((file) => !file.endsWith('.test.ts') && !file.endsWith('/run-error-codes.ts'))
    .map((file) => readFileSync(join(root, folder, file), 'utf8'))

/** Returns one sentence for each difference between a catalogue and the sources of its service. */
export function findCatalogueErrors(service: string, problems: readonly KnownProblem[], sources: string[]): string[] {
  const known = new Set([...problems, ...sharedProblems].map(({ code, status }) => `${status} ${code}`))
  const codes = new Set([...problems, ...sharedProblems].map(({ code }) => code))
  const used = sources.flatMap((text) => [...text.matchAll(/new Problem\(\s*(\w+),\s*'([\w-]+)'/g)])
  const unknown = used.filter(([, status = '', code = '']) =>
    /^\d+$/.test(status) ? !known.has(`${status} ${code}`) : !codes.has(code),
  )
  const text = sources.join('\n')
  const isReturned = ({ code }: KnownProblem) =>
    new RegExp(String.raw`,\s*'${code}'`).test(text) || text.includes(`'${code.toUpperCase().replaceAll('-', '_')}'`)
  const others = sharedProblems.filter((problem) => !problems.includes(problem))
  const listed = [...others, ...problems].map(({ code }) => code)
  const twice = new Set(listed.filter((code, index) => listed.indexOf(code) < index))
  const unused = problems.filter((problem) => !isReturned(problem))
  return [
    ...unknown.map(([, status, code]) => `${service} returns ${status} ${code}, which its problem-catalogue.ts lacks`),
    ...[...twice].map((code) => `${service} uses the code ${code} for two problems`),
    ...unused.map(({ code }) => `${service} does not return ${code} of its problem-catalogue.ts`),
  ]
}
