import { createResponseProblem, toText } from '../http-connector/parse-response.ts'
import { compileFhirPath, type FhirPathExpression } from '../fhir/fhirpath.ts'

/** A column of a report. */
interface ReportColumn {
  name: string
  label: string
  /** Returns the column's values in a resource. */
  getValues: FhirPathExpression
}

/** A type of resources in a report, with the columns that the report shows of it. */
export interface ReportBlock {
  name: string
  resource: string
  columns: ReportColumn[]
}

/** A block of a report, with the reference that links it to another block. */
export interface ReportLink extends ReportBlock {
  /** The name of the block from which the link starts. */
  originBlock: string
  /** The reference from that block to this type. If undefined, the link uses the id of that block's resource. */
  originReference: FhirPathExpression | undefined
  /** The reference from this type to the other block. If undefined, the link uses the id of this type's resource. */
  targetReference: FhirPathExpression | undefined
  /** The search parameter that finds the resources of the link. */
  parameter: string
  /** True if a row can have several of these resources. They then become a child table. */
  isMultiple: boolean
}

export interface IhrisReport {
  main: ReportBlock & { search: string; filter: FhirPathExpression | undefined }
  links: ReportLink[]
}

interface ReportExtension {
  url?: string
  extension?: ReportExtension[]
  [value: `value${string}`]: unknown
}

/** The FHIR profile of reports. iHRIS stores reports as Basic resources with this profile. */
export const reportProfile = 'http://ihris.org/fhir/StructureDefinition/iHRISRelationship'

/**
 * Parses a report. Throws `SourceProblem` OTHER_PROTOCOL if the resource is not a report, and NOT_SUPPORTED for an
 * unsupported path.
 */
export function parseReport(resource: unknown): IhrisReport {
  const { extension = [] } = resource as { extension?: ReportExtension[] }
  const details = extension.find((item) => hasProfile(item, 'iHRISReportDetails'))
  if (!details) throw createResponseProblem('iHRIS', 'report')
  const query = findText(details, 'query')
  const main = {
    ...parseBlock(details),
    search: findText(details, 'initialFilter') ?? '',
    filter: query ? compileFhirPath(query) : undefined,
  }
  return { main, links: extension.filter((item) => hasProfile(item, 'iHRISReportLink')).map(parseLink) }
}

/** Returns the name and the label of a report. Both are undefined if the resource is not a report. */
export function parseReportTitle(resource: unknown): { code: string | undefined; label: string | undefined } {
  const { extension = [] } = resource as { extension?: ReportExtension[] }
  const details = extension.find((item) => hasProfile(item, 'iHRISReportDetails'))
  return { code: details && findText(details, 'name'), label: details && findText(details, 'label') }
}

/** Parses a block of a report. Leaves out columns without a name or a path. */
function parseBlock(block: ReportExtension): ReportBlock {
  const resource = findText(block, 'resource')
  if (resource === undefined) throw createResponseProblem('iHRIS', 'resource in its report')
  const columns = (block.extension ?? []).flatMap((item): ReportColumn[] => {
    if (!hasProfile(item, 'iHRISReportElement')) return []
    const name = findText(item, 'name')
    const path = findText(item, 'fhirpath')
    if (name === undefined || path === undefined) return []
    return [{ name, label: findText(item, 'display') ?? name, getValues: compileFhirPath(path) }]
  })
  return { name: findText(block, 'name') ?? resource, resource, columns }
}

/**
 * Parses a link to another block. `linkTo` is the name of that block, or the path of a reference in it. `linkElement`
 * is the path in this block to which the link leads: its id, or a reference such as `PractitionerRole.practitioner`.
 */
function parseLink(link: ReportExtension): ReportLink {
  const block = parseBlock(link)
  const [originBlock = '', ...originPath] = (findText(link, 'linkTo') ?? '').split('.')
  const idPath = `${block.resource}.id`
  const elementPath = findText(link, 'linkElement') ?? idPath
  const isById = elementPath === idPath
  const [, fieldName = ''] = elementPath.split('.')
  return {
    ...block,
    originBlock,
    originReference: originPath.length > 0 ? compileFhirPath(originPath.join('.')) : undefined,
    targetReference: isById ? undefined : compileFhirPath(elementPath),
    parameter: isById ? '_id' : (findText(link, 'linkElementSearchParameter') ?? fieldName),
    isMultiple: (link.extension ?? []).some((item) => item.url === 'multiple' && item['valueBoolean'] === true),
  }
}

const hasProfile = ({ url = '' }: ReportExtension, name: string): boolean => url.endsWith(`/${name}`)

/** Returns the text of the nested extension with this URL. */
const findText = ({ extension = [] }: ReportExtension, url: string): string | undefined =>
  toText(extension.find((item) => item.url === url)?.['valueString'])
