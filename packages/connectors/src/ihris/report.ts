import { createResponseProblem, toText } from '../http-connector/parse-response.ts'
import { fhirPath, type FhirPathExpression } from '../fhir/fhirpath.ts'

/** A column of a report: its name and its path in the resource. */
interface ReportColumn {
  name: string
  label: string
  value: FhirPathExpression
}

export interface ReportBlock {
  name: string
  resource: string
  columns: ReportColumn[]
}

/** A resource type that is linked to another one of the report. */
export interface ReportLink extends ReportBlock {
  /** The block that this link starts from, and the element of that block which refers to this type; its id if undefined. */
  to: string
  from: FhirPathExpression | undefined
  /** The element of this type that refers to the other block; the id if undefined. */
  element: FhirPathExpression | undefined
  parameter: string
  /** Whether a row can have several of these resources, which then become a child table. */
  multiple: boolean
}

export interface IhrisReport {
  main: ReportBlock & { search: string; wanted: FhirPathExpression | undefined }
  links: ReportLink[]
}

interface ReportExtension {
  url?: string
  extension?: ReportExtension[]
  [value: `value${string}`]: unknown
}

/** The profile of reports among the Basic resources. */
export const reportProfile = 'http://ihris.org/fhir/StructureDefinition/iHRISRelationship'

/** Throws `SourceProblem`: OTHER_PROTOCOL if the resource is not a report, NOT_SUPPORTED for an unsupported path. */
export function reportOf(resource: unknown): IhrisReport {
  const { extension = [] } = resource as { extension?: ReportExtension[] }
  const details = extension.find((one) => ends(one, 'iHRISReportDetails'))
  if (!details) throw createResponseProblem('iHRIS', 'a report')
  const query = textIn(details, 'query')
  const main = {
    ...blockOf(details),
    search: textIn(details, 'initialFilter') ?? '',
    wanted: query ? fhirPath(query) : undefined,
  }
  return { main, links: extension.filter((one) => ends(one, 'iHRISReportLink')).map(linkOf) }
}

/** Returns the code and the title of a report. */
export function titleOf(resource: unknown): { code: string | undefined; name: string | undefined } {
  const { extension = [] } = resource as { extension?: ReportExtension[] }
  const details = extension.find((one) => ends(one, 'iHRISReportDetails'))
  return { code: details && textIn(details, 'name'), name: details && textIn(details, 'label') }
}

function blockOf(block: ReportExtension): ReportBlock {
  const resource = textIn(block, 'resource')
  if (resource === undefined) throw createResponseProblem('iHRIS', 'a resource in its report')
  const columns = (block.extension ?? []).flatMap((one): ReportColumn[] => {
    const [name, path] = [textIn(one, 'name'), textIn(one, 'fhirpath')]
    if (!ends(one, 'iHRISReportElement') || name === undefined || path === undefined) return []
    return [{ name, label: textIn(one, 'display') ?? name, value: fhirPath(path) }]
  })
  return { name: textIn(block, 'name') ?? resource, resource, columns }
}

function linkOf(link: ReportExtension): ReportLink {
  const block = blockOf(link)
  const element = textIn(link, 'linkElement') ?? `${block.resource}.id`
  const [to = '', ...from] = (textIn(link, 'linkTo') ?? '').split('.')
  const own = element === `${block.resource}.id`
  const [, field = ''] = element.split('.')
  return {
    ...block,
    to,
    from: from.length > 0 ? fhirPath(from.join('.')) : undefined,
    element: own ? undefined : fhirPath(element),
    parameter: own ? '_id' : (textIn(link, 'linkElementSearchParameter') ?? field),
    multiple: (link.extension ?? []).some((one) => one.url === 'multiple' && one['valueBoolean'] === true),
  }
}

const ends = ({ url = '' }: ReportExtension, name: string): boolean => url.endsWith(`/${name}`)

const textIn = ({ extension = [] }: ReportExtension, url: string): string | undefined =>
  toText(extension.find((one) => one.url === url)?.['valueString'])
