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
  content: [introduction, rolesTable(), otherServicesTable(), ...services.map(matrix), ''].join('\n\n'),
})

const introduction = `# Roles

What each role opens in both services. \`ROLE_SUPER_ADMIN\` opens everything, in all clients; every other role acts inside the client
that its user belongs to. \`ROLE_MANAGE_x\` includes \`ROLE_SEE_x\`. Nobody grants a role that they do not hold, or touches somebody who holds
one that they lack. A role whose switch a client has off opens nothing there ([why](decisions/0019-switches.md)). In the pipeline service an
object's own sharing comes on top ([how](decisions/0008-who-may-reach-what.md)). A super admin who acts for a client still sees all clients in
the lists of identity: filter by \`client.id\`.

This page is made from the contracts by \`npm run generate\`.`

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
