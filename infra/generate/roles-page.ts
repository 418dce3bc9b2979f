import {
  forOtherServices,
  holds,
  identityOperations,
  pipelineOperations,
  roles,
  type Guard,
  type Role,
  type Signature,
} from '@sluice/contracts'
import { switchOf } from '../../apps/identity/src/access.ts'
import type { Artefact } from './artefacts.ts'

const signaturesOf = (nouns: object): Signature[] =>
  Object.values(nouns).flatMap((noun: object) => Object.values(noun) as Signature[])

const services = [
  { title: 'Identity', signatures: signaturesOf(identityOperations) },
  { title: 'Pipeline', signatures: signaturesOf(pipelineOperations) },
]

/** docs/roles.md: what each role opens, and which roles open each operation. */
export const rolesPage = (): Artefact => ({
  file: 'docs/roles.md',
  content: [introduction, jobsTable(), rolesTable(), otherServicesTable(), ...services.map(matrix), ''].join('\n\n'),
})

const introduction = `# Roles

What each role opens in both services. \`ROLE_SUPER_ADMIN\` opens everything, in all clients; every other role acts inside the client
that its user belongs to. \`ROLE_MANAGE_x\` includes \`ROLE_SEE_x\`. Nobody grants a role that they do not hold, or touches somebody who holds
one that they lack. A role whose switch a client has off opens nothing there ([why](decisions/0019-switches.md)). In the pipeline service an
object's own sharing comes on top ([how](decisions/0008-who-may-reach-what.md)). A super admin who acts for a client still sees all clients in
the lists of identity: filter by \`client.id\`.

This page is made from the contracts by \`npm run generate\`.`

/** What people do, and the roles that it takes. */
const jobs: readonly [work: string, needed: readonly Role[], more?: string][] = [
  ['read the loaded rows of pipelines that are shared with them', ['ROLE_SEE_DATA_PIPELINE']],
  ['read the loaded rows of all pipelines of the organisation', ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE']],
  ['create schemas, upload files, set up pipelines and run them', ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']],
  ['write views over loaded tables', ['ROLE_SEE_SCHEMA', 'ROLE_MANAGE_VIEW']],
  ['check data', ['ROLE_MANAGE_DATA_QUALITY_CHECK', 'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP']],
  ['push a view to DHIS2', ['ROLE_SEE_VIEW', 'ROLE_MANAGE_DESTINATION']],
  ['run several steps one after the other on a schedule', ['ROLE_MANAGE_WORKFLOW']],
  ['keep values that queries use', ['ROLE_MANAGE_VARIABLE']],
  ['choose who gets alert mails, and how new objects are shared', ['ROLE_MANAGE_SETTING']],
  [
    'publish public datasets',
    ['ROLE_MANAGE_PUBLIC_DATASET_CATALOG'],
    'the organisation needs the domain PUBLIC_DATASET_CATALOG',
  ],
  ['invite people, give them roles, reset passwords', ['ROLE_MANAGE_USER'], 'and every role that they give'],
  ['put people into groups', ['ROLE_MANAGE_USER_GROUP']],
  ['change the contacts and the time zone of the organisation', ['ROLE_MANAGE_CLIENT']],
  ['let the organisation sign in at its own provider', ['ROLE_MANAGE_SSO_PROVIDER_CONFIG']],
  ['register applications that people sign in to', ['ROLE_MANAGE_SSO_CLIENT_CONFIG']],
  ['read who did what', ['ROLE_SEE_AUDIT_LOG']],
  ['create organisations, and do everything in all of them', ['ROLE_SUPER_ADMIN']],
]

const jobsTable = (): string =>
  [
    '## Which roles for which work',
    '',
    'To look without changing anything, give `ROLE_SEE_x` in place of `ROLE_MANAGE_x`.',
    '',
    '| People who | Need |',
    '|---|---|',
    ...jobs.map(
      ([work, needed, more]) =>
        `| ${work} | ${needed.map((role) => `\`${role}\``).join(', ')}${more ? `; ${more}` : ''} |`,
    ),
  ].join('\n')

const guards = (guard: Guard, role: Role): boolean =>
  Array.isArray(guard) && guard.some((wanted: Role) => holds([role], wanted))

const switchNames = {
  manager_enabled: '`managerEnabled`',
  routes_enabled: '`routesEnabled`',
  pipelines_enabled: '`pipelinesEnabled`',
}

function rolesTable(): string {
  const all = services.flatMap(({ signatures }) => signatures)
  const rows = roles.map((role) => {
    const hangsFrom = switchOf(role)
    const opened = all.filter(({ guard }) => guards(guard, role)).map(({ id }) => `\`${id}\``)
    const what =
      role === 'ROLE_SUPER_ADMIN'
        ? 'everything'
        : opened.join(', ') || 'none: [for other services](#for-other-services)'
    return `| \`${role}\` | ${hangsFrom ? switchNames[hangsFrom] : ''} | ${what} |`
  })
  return ['## What a role opens', '', '| Role | Switch of the client | Operations |', '|---|---|---|', ...rows].join(
    '\n',
  )
}

const kinds = { role: 'role', client: 'field of a client', user: 'field of a user', setting: 'setting' }

function otherServicesTable(): string {
  const rows = forOtherServices.map(
    ({ name, kind, meaning }) =>
      `| ${name
        .split(', ')
        .map((one) => `\`${one}\``)
        .join(', ')} | ${kinds[kind]} | ${meaning} |`,
  )
  return [
    '## For other services',
    '',
    'Sluice keeps and answers these, so that other services that trust it can read them. In Sluice itself they decide nothing but what is said here.',
    '',
    '| Name | Kind | Meaning |',
    '|---|---|---|',
    ...rows,
  ].join('\n')
}

const words: Record<string, string> = {
  anyone: 'anyone',
  'signed-in': 'any user',
  'in-person': 'any user, in person',
  service: 'the other service',
}

function matrix({ title, signatures }: (typeof services)[number]): string {
  const named = roles.filter((role) => signatures.some(({ guard }) => Array.isArray(guard) && guards(guard, role)))
  const columns = named.filter((role) => role !== 'ROLE_SUPER_ADMIN')
  const short = (role: Role) => role.replace('ROLE_', '').replaceAll('_', ' ').toLowerCase()
  const rows = signatures.map(({ id, method, path, guard, inPerson }) => {
    const cells = columns.map((role) => (guards(guard, role) ? '●' : ''))
    const others = typeof guard === 'string' ? words[guard] : inPerson ? 'in person' : ''
    return `| \`${id}\` | ${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')} | ${others} | ${Array.isArray(guard) ? '●' : ''} | ${cells.join(' | ')} |`
  })
  const heads = ['Operation', 'Method and path', 'Besides roles', 'super admin', ...columns.map(short)]
  return [`## ${title}`, '', `| ${heads.join(' | ')} |`, `|${'---|'.repeat(heads.length)}`, ...rows].join('\n')
}
