import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sharedProblems, type KnownProblem } from '@sluice/http'
import { identityProblems } from '../../apps/identity/src/problem-catalogue.ts'
import { pipelineProblems } from '../../apps/pipeline/src/problem-catalogue.ts'
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
  const sections = catalogues.map(({ title, problems }) => `## ${title}\n\n${tableOf(problems)}\n`)
  return { file: 'docs/problems.md', content: `${introduction}\n${sections.join('\n')}` }
}

const introduction = `# Problems

A request that fails is answered with \`application/problem+json\` (RFC 9457): \`type\` is \`urn:problem:<code>\`, \`detail\` is for
people, \`errors\` names every field that is wrong, and \`requestId\` finds the request in the logs. Act on \`code\` and \`status\`: they stay;
titles and details may get better. OAuth endpoints below \`/oidc\` answer the errors of RFC 6749 instead.

This page is made from the catalogues in the sources by \`npm run generate\`.
`

const tableOf = (problems: readonly KnownProblem[]): string =>
  [
    '| Code | Status | Title | When |',
    '|---|---|---|---|',
    ...problems.map(({ code, status, title, when }) => `| \`${code}\` | ${status} | ${title} | ${when} |`),
  ].join('\n')

const readSources = (folder: string): string[] =>
  globSync('src/**/*.ts', { cwd: join(root, folder) })
    .filter((file) => !file.endsWith('.test.ts'))
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
