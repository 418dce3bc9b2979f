import { identityOperations, pipelineOperations, type OperationSignature } from '@sluice/contracts'
import type { Properties, Property, PropertyType } from '@sluice/records'
import { clientRecords } from '../../apps/identity/src/api/clients/records.ts'
import { mailRecords } from '../../apps/identity/src/api/mails/records.ts'
import { auditProperties } from '../../apps/identity/src/api/reports/audit.ts'
import { userAccessProperties } from '../../apps/identity/src/api/reports/user-access.ts'
import { ssoClientConfigRecords } from '../../apps/identity/src/api/sso-client-configs/records.ts'
import { ssoProviderConfigRecords } from '../../apps/identity/src/api/sso-provider-configs/records.ts'
import { userGroupRecords } from '../../apps/identity/src/api/user-groups/records.ts'
import { userRecords } from '../../apps/identity/src/api/users/records.ts'
import { auditLog } from '../../apps/pipeline/src/api/audit/operations.ts'
import { dataPipelines } from '../../apps/pipeline/src/api/data-pipelines/records.ts'
import { dataQualityCheckGroups } from '../../apps/pipeline/src/api/data-quality-check-groups/records.ts'
import { dataQualityChecks } from '../../apps/pipeline/src/api/data-quality-checks/records.ts'
import { destinationRecords } from '../../apps/pipeline/src/api/destinations/records.ts'
import { publicDatasets } from '../../apps/pipeline/src/api/public-datasets/records.ts'
import { schemaRecords } from '../../apps/pipeline/src/api/schemas/records.ts'
import { variableRecords } from '../../apps/pipeline/src/api/variables/records.ts'
import { viewRecords } from '../../apps/pipeline/src/api/views/records.ts'
import { warehouseReaderRecords } from '../../apps/pipeline/src/api/warehouse-readers/records.ts'
import { workflowRecords } from '../../apps/pipeline/src/api/workflows/records.ts'
import { UserError } from '../user-error.ts'
import type { Artefact } from './generated-files.ts'

type Repositories = readonly { definition: { path: string; properties: Properties } }[]

const propertiesByPath = (repositories: Repositories) =>
  Object.fromEntries(repositories.map(({ definition }) => [definition.path, definition.properties]))

/** The search properties of each service's lists, by path. */
const services: { title: string; nouns: object; properties: Record<string, Properties>; note?: string }[] = [
  {
    title: 'Identity',
    nouns: identityOperations,
    properties: {
      ...propertiesByPath([userRecords, userGroupRecords, clientRecords, mailRecords]),
      ...propertiesByPath([ssoClientConfigRecords, ssoProviderConfigRecords]),
      '/user-groups/:uid/users': userRecords.definition.properties,
      '/reports/user-access': userAccessProperties,
      '/reports/audit': auditProperties,
    },
  },
  {
    title: 'Pipeline',
    nouns: pipelineOperations,
    properties: {
      ...propertiesByPath([
        schemaRecords,
        dataPipelines,
        viewRecords,
        variableRecords,
        workflowRecords,
        destinationRecords,
      ]),
      ...propertiesByPath([dataQualityChecks, dataQualityCheckGroups, publicDatasets, warehouseReaderRecords]),
      '/audit': auditLog.properties,
    },
    note: `The \`value\` of a secured variable is stored encrypted in another column: no filter finds it, no order depends on it, and secured variables
count as variables without a value (\`filter=value:null\`).`,
  },
]

/** Generates docs/search-properties.md: the properties to filter and sort each list by, and the limits of its pages. */
export const generateSearchPage = (): Artefact => {
  const sections = services.map(({ title, nouns, properties, note = '' }) => {
    const signatures = Object.values(nouns).flatMap((noun: object): OperationSignature[] => Object.values(noun))
    const errors = findListErrors(signatures, properties)
    if (errors.length > 0) throw new UserError(errors.join('\n'))
    return [`## ${title}`, formatFilteredLists(signatures, properties), note, formatUnfilteredLists(signatures)]
      .filter((part) => part !== '')
      .join('\n\n')
  })
  return { file: 'docs/search-properties.md', content: `${[introduction, ...sections].join('\n\n')}\n` }
}

/** The values of a property are listed if there are at most this many. */
const maxListedValues = 8

const introduction = `# Search properties

After this page you know which properties each list of both services can be filtered and sorted by. Use them in \`filter\`,
and in \`order\` unless they are in *italics*; [search](search.md) describes both.
Parentheses contain the possible values of a property if there are at most ${maxListedValues}; the API reference (\`/docs\`) has the others. A property «with» a role can only be
used by users who have that role.

\`npm run generate\` creates this page from the sources.`

const readFields = (contract: unknown) =>
  (contract as { properties?: Record<string, { maximum?: number }> } | undefined)?.properties ?? {}
const hasFilters = ({ method, query }: OperationSignature) => method === 'get' && 'filter' in readFields(query)

/** Returns a sentence for each list without properties, and for each property without a list. */
export function findListErrors(
  signatures: readonly OperationSignature[],
  properties: Record<string, Properties>,
): string[] {
  const paths = signatures.filter(hasFilters).map(({ path }) => path)
  return [
    ...paths
      .filter((path) => !(path in properties))
      .map((path) => `${path} has filters, and search-page.ts has no properties for it`),
    ...Object.keys(properties)
      .filter((path) => !paths.includes(path))
      .map((path) => `search-page.ts has properties for ${path}, which has no filters`),
  ]
}

const propertyTypes: readonly [type: PropertyType, called: string][] = [
  ['uid', 'id'],
  ['string', 'text'],
  ['number', 'number'],
  ['date-time', 'time'],
  ['boolean', 'true or false'],
  ['enum', 'fixed words'],
  ['strings', 'list'],
]

const formatPath = (path: string) => `\`${path.replaceAll(/:(\w+)/g, '{$1}')}\``

function formatFilteredLists(
  signatures: readonly OperationSignature[],
  properties: Record<string, Properties>,
): string {
  const rows = signatures.filter(hasFilters).map(({ path, query }) => {
    const alsoByPost = signatures.some((one) => one.method === 'post' && one.path === `${path}/search`)
    const maxPageSize = readFields(query)['pageSize']?.maximum ?? ''
    return `| ${formatPath(path)} | ${alsoByPost ? 'yes' : ''} | ${maxPageSize.toLocaleString('en')} | ${formatProperties(properties[path]!)} |`
  })
  const heads = ['List', 'Also `POST …/search`', 'Rows per page, at most', 'Properties']
  return [`| ${heads.join(' | ')} |`, '|---|---|---:|---|', ...rows].join('\n')
}

function formatProperties(properties: Properties): string {
  return propertyTypes
    .map(([type, called]) => {
      const matching = Object.entries(properties).filter(([, property]) => property.type === type)
      return matching.length === 0 ? '' : `**${called}:** ${matching.map((one) => formatProperty(...one)).join(', ')}`
    })
    .filter((part) => part !== '')
    .join('; ')
}

function formatProperty(name: string, property: Property): string {
  const ordered = property.type !== 'strings' && !property.toExists
  const enumValues =
    property.type === 'enum' && property.values.length <= maxListedValues ? ` (${property.values.join(', ')})` : ''
  const roles = property.onlyFor ? ` with ${property.onlyFor.join(' or ')}` : ''
  return `${ordered ? name : `*${name}*`}${enumValues}${roles}`
}

/** Returns a table of the lists that have pages and no filters. */
function formatUnfilteredLists(signatures: readonly OperationSignature[]): string {
  const rows = signatures
    .filter(
      (signature) => !hasFilters(signature) && signature.method === 'get' && 'pageSize' in readFields(signature.query),
    )
    .map(({ path, summary, query }) => {
      const { pageSize, page } = readFields(query)
      const limits = [pageSize?.maximum, page?.maximum].map((maximum) => maximum?.toLocaleString('en') ?? '')
      return `| ${formatPath(path)} | ${summary} | ${limits.join(' | ')} |`
    })
  if (rows.length === 0) return ''
  return [
    'These lists have pages, but no filters:',
    '',
    '| List | Of | Rows per page, at most | Last page |',
    '|---|---|---:|---:|',
    ...rows,
  ].join('\n')
}
