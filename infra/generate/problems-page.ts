import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sharedProblems, type KnownProblem } from '@sluice/http'
import { identityProblems } from '../../apps/identity/src/problem-catalogue.ts'
import { pipelineProblems } from '../../apps/pipeline/src/problem-catalogue.ts'
import { runCodes } from '../../apps/pipeline/src/run-code-catalogue.ts'
import { root } from '../paths.ts'
import { Refusal } from '../refusal.ts'
import type { Artefact } from './artefacts.ts'

const catalogues: { title: string; folder: string; problems: readonly KnownProblem[] }[] = [
  { title: 'Both services', folder: 'packages/http', problems: sharedProblems },
  { title: 'Identity', folder: 'apps/identity', problems: identityProblems },
  { title: 'Pipeline', folder: 'apps/pipeline', problems: pipelineProblems },
]

/** docs/problems.md: every code, once it is sure that these are the codes of the sources. */
export const problemsPage = (): Artefact => {
  const wrong = catalogues.flatMap(({ folder, problems }) => brokenCatalogue(folder, problems, readSources(folder)))
  if (wrong.length > 0) throw new Refusal(wrong.join('\n'))
  const { unknown, unused } = brokenRunCodes(runCodes, ['apps/pipeline', 'packages/delimited'].flatMap(readSources))
  if (unknown.length > 0)
    throw new Refusal(`apps/pipeline/src/run-code-catalogue.ts does not know ${unknown.join(', ')}, by which runs fail`)
  if (unused.length > 0) throw new Refusal(`No run fails by ${unused.join(', ')}, which run-code-catalogue.ts tells of`)
  const sections = catalogues.map(({ title, problems }) => `## ${title}\n\n${tableOf(problems)}\n`)
  return { file: 'docs/problems.md', content: `${introduction}\n${sections.join('\n')}\n${runsOf(runCodes)}` }
}

const introduction = `# Problems

A request that fails is answered with \`application/problem+json\` (RFC 9457): \`type\` is \`urn:problem:<code>\`, \`detail\` is for
people, \`errors\` names every field that is wrong, and \`requestId\` finds the request in the logs. Act on \`code\` and \`status\`: they stay;
titles and details may get better. OAuth endpoints below \`/oidc\` answer the errors of RFC 6749 instead.

This page is made from the catalogues in the sources by \`npm run generate\`.
`

const runsOf = (groups: typeof runCodes): string =>
  `## Runs that fail

The \`errorCode\` of a failed run is one of these codes, and its \`message\` says what failed, where, why and what to do. Connection tests have the same codes
as \`errorCode\`; previews and look-ups are refused with \`source-unreadable\` for the same reasons. *Request retried* means that the attempt repeats the request up to six times
with growing pauses; this applies to HTTP and object stores, and a database is connected to once. *Run retried* means that the whole run is repeated up to five times, seconds to minutes apart. A run that fails for any other reason fails at once; its schedule starts the next run at the next time.

${groups.map(({ title, codes }) => `### ${title}\n\n| Code | When |\n|---|---|\n${rowsOf(codes)}\n`).join('\n')}`

const rowsOf = (codes: Readonly<Record<string, string>>): string =>
  Object.entries(codes)
    .map(([code, when]) => `| \`${code}\` | ${when} |`)
    .join('\n')

/** Codes that problems of runs have in the sources and the catalogue does not know, and the other way round. */
export function brokenRunCodes(
  groups: readonly { codes: Readonly<Record<string, string>> }[],
  sources: string[],
): { unknown: string[]; unused: string[] } {
  const known = new Set(groups.flatMap(({ codes }) => Object.keys(codes)))
  const thrown = /new (?:Source|Destination|Load|Variable|Warehouse|Delimited)Problem\(\s*'(\w+)'/g
  const used = sources.flatMap((text) => [...text.matchAll(thrown)].map(([, code = '']) => code))
  const text = sources.join('\n')
  return {
    unknown: [...new Set(used)].filter((code) => !known.has(code)),
    unused: [...known].filter((code) => !new RegExp(`['\\s]${code}(?:'|:)`).test(text)),
  }
}

const tableOf = (problems: readonly KnownProblem[]): string =>
  [
    '| Code | Status | Title | When |',
    '|---|---|---|---|',
    ...problems.map(({ code, status, title, when }) => `| \`${code}\` | ${status} | ${title} | ${when} |`),
  ].join('\n')

const readSources = (folder: string): string[] =>
  globSync('src/**/*.ts', { cwd: join(root, folder) })
    .filter((file) => !file.endsWith('.test.ts') && !/run-code-catalogue/.test(file))
    .map((file) => readFileSync(join(root, folder, file), 'utf8'))

/** What a catalogue says differently from the sources of its folder, one sentence each. */
export function brokenCatalogue(folder: string, problems: readonly KnownProblem[], sources: string[]): string[] {
  const known = new Set([...problems, ...sharedProblems].map(({ code, status }) => `${status} ${code}`))
  const codes = new Set([...problems, ...sharedProblems].map(({ code }) => code))
  const used = sources.flatMap((text) => [...text.matchAll(/new Problem\(\s*(\w+),\s*'([\w-]+)'/g)])
  const unknown = used.filter(([, status = '', code = '']) =>
    /^\d+$/.test(status) ? !known.has(`${status} ${code}`) : !codes.has(code),
  )
  const text = sources.join('\n')
  const isAnswered = ({ code }: KnownProblem) =>
    new RegExp(String.raw`,\s*'${code}'`).test(text) || text.includes(`'${code.toUpperCase().replaceAll('-', '_')}'`)
  const others = sharedProblems.filter((problem) => !problems.includes(problem))
  const listed = [...others, ...problems].map(({ code }) => code)
  const twice = new Set(listed.filter((code, index) => listed.indexOf(code) < index))
  const unused = problems.filter((problem) => !isAnswered(problem))
  return [
    ...unknown.map(
      ([, status, code]) => `${folder} answers ${status} ${code}, which its problem-catalogue.ts does not know`,
    ),
    ...[...twice].map((code) => `${folder} has the code ${code} for two things`),
    ...unused.map(({ code }) => `${folder} does not answer ${code}, which its problem-catalogue.ts tells of`),
  ]
}
