import {
  featuresOfOtherServices,
  hasRole,
  identityOperations,
  pipelineOperations,
  allRoles,
  type OperationGuard,
  type Role,
  type OperationSignature,
} from '@sluice/contracts'
import { findClientSwitch } from '../../apps/identity/src/effective-roles.ts'
import type { Artefact } from './generated-files.ts'

const listSignatures = (nouns: object): OperationSignature[] =>
  Object.values(nouns).flatMap((noun: object) => Object.values(noun) as OperationSignature[])

const services = [
  { title: 'Identity', signatures: listSignatures(identityOperations) },
  { title: 'Pipeline', signatures: listSignatures(pipelineOperations) },
]

/** Generates docs/roles.md: the operations of each role, and the roles of each operation. */
export const generateRolesPage = (): Artefact => ({
  file: 'docs/roles.md',
  content: [introduction, formatTasks(), formatRoles(), formatOtherServices(), ...services.map(formatMatrix), ''].join(
    '\n\n',
  ),
})

const introduction = `# Roles

After this page you can choose the roles of a user, and know what each role permits in both services.

- \`ROLE_SUPER_ADMIN\` permits everything, in all organisations. Every other role applies to the organisation of its user.
- \`ROLE_MANAGE_x\` includes \`ROLE_SEE_x\`.
- Users can only grant roles that they have, and cannot change a user who has a role that they lack.
- A role has no effect in an organisation that has its switch off ([why](decisions/0019-switches.md)).
- In the pipeline service, users also need access to the object itself ([how](decisions/0008-who-may-reach-what.md)).
- A super admin who acts for an organisation still sees all organisations in the lists of identity: filter by \`client.id\`.

\`npm run generate\` creates this page from the contracts.`

/** Typical tasks, with the roles that each one needs. */
const rolesByTask: readonly [work: string, needed: readonly Role[], more?: string][] = [
  ['read the loaded rows of pipelines that are shared with them', ['ROLE_SEE_DATA_PIPELINE']],
  ['read the loaded rows of all pipelines of the organisation', ['ROLE_VIEW_DATA_ALL_DATA_PIPELINE']],
  ['create schemas, upload files, set up pipelines and run them', ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE']],
  ['write views over loaded tables', ['ROLE_SEE_SCHEMA', 'ROLE_MANAGE_VIEW']],
  ['define and run checks of data', ['ROLE_MANAGE_DATA_QUALITY_CHECK', 'ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP']],
  ['push a view to DHIS2', ['ROLE_SEE_VIEW', 'ROLE_MANAGE_DESTINATION']],
  ['run several steps in a workflow, on a schedule', ['ROLE_MANAGE_WORKFLOW']],
  ['define variables for queries', ['ROLE_MANAGE_VARIABLE']],
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
  ['read the audit log', ['ROLE_SEE_AUDIT_LOG']],
  ['create organisations, and do everything in all of them', ['ROLE_SUPER_ADMIN']],
]

const formatTasks = (): string =>
  [
    '## Which roles for which work',
    '',
    'For read-only access, give `ROLE_SEE_x` instead of `ROLE_MANAGE_x`.',
    '',
    '| People who | Need |',
    '|---|---|',
    ...rolesByTask.map(
      ([work, needed, more]) =>
        `| ${work} | ${needed.map((role) => `\`${role}\``).join(', ')}${more ? `; ${more}` : ''} |`,
    ),
  ].join('\n')

/** Returns whether a role permits an operation. */
const permits = (guard: OperationGuard, role: Role): boolean =>
  Array.isArray(guard) && guard.some((wanted: Role) => hasRole([role], wanted))

const switchNames = {
  manager_enabled: '`managerEnabled`',
  routes_enabled: '`routesEnabled`',
  pipelines_enabled: '`pipelinesEnabled`',
}

function formatRoles(): string {
  const all = services.flatMap(({ signatures }) => signatures)
  const rows = allRoles.map((role) => {
    const clientSwitch = findClientSwitch(role)
    const permitted = all.filter(({ guard }) => permits(guard, role)).map(({ id }) => `\`${id}\``)
    const operations =
      role === 'ROLE_SUPER_ADMIN'
        ? 'everything'
        : permitted.join(', ') || 'none: [for other services](#for-other-services)'
    return `| \`${role}\` | ${clientSwitch ? switchNames[clientSwitch] : ''} | ${operations} |`
  })
  return [
    '## Operations of each role',
    '',
    '| Role | Switch of the organisation | Operations |',
    '|---|---|---|',
    ...rows,
  ].join('\n')
}

const kindLabels = { role: 'role', client: 'field of an organisation', user: 'field of a user', setting: 'setting' }

function formatOtherServices(): string {
  const rows = featuresOfOtherServices.map(
    ({ name, kind, meaning }) =>
      `| ${name
        .split(', ')
        .map((one) => `\`${one}\``)
        .join(', ')} | ${kindLabels[kind]} | ${meaning} |`,
  )
  return [
    '## For other services',
    '',
    'Sluice stores and returns these for other services that trust it. In Sluice they have only the effects listed here.',
    '',
    '| Name | Kind | Meaning |',
    '|---|---|---|',
    ...rows,
  ].join('\n')
}

const guardLabels: Record<string, string> = {
  anyone: 'anyone',
  'signed-in': 'any user',
  'in-person': 'any user, in person',
  service: 'the other service',
}

function formatMatrix({ title, signatures }: (typeof services)[number]): string {
  const named = allRoles.filter((role) => signatures.some(({ guard }) => Array.isArray(guard) && permits(guard, role)))
  const columns = named.filter((role) => role !== 'ROLE_SUPER_ADMIN')
  const short = (role: Role) => role.replace('ROLE_', '').replaceAll('_', ' ').toLowerCase()
  const rows = signatures.map(({ id, method, path, guard, inPerson }) => {
    const cells = columns.map((role) => (permits(guard, role) ? '●' : ''))
    const otherConditions = typeof guard === 'string' ? guardLabels[guard] : inPerson ? 'in person' : ''
    return `| \`${id}\` | ${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')} | ${otherConditions} | ${Array.isArray(guard) ? '●' : ''} | ${cells.join(' | ')} |`
  })
  const heads = ['Operation', 'Method and path', 'Besides roles', 'super admin', ...columns.map(short)]
  return [`## ${title}`, '', `| ${heads.join(' | ')} |`, `|${'---|'.repeat(heads.length)}`, ...rows].join('\n')
}
