import { strange, textOf } from '../http/answers.ts'
import { fhirPath, type Path } from '../fhir/fhirpath.ts'

/** A column of a report: what it is called, and where it is in its resource. */
interface ReportColumn {
  name: string
  label: string
  value: Path
}

/** What a report has of one type of resource. */
export interface Block {
  name: string
  resource: string
  columns: ReportColumn[]
}

/** A type of resource that hangs on another one of the report. */
export interface Link extends Block {
  /** The block on which it hangs, and what of that leads here; its own id where nothing is said. */
  to: string
  from: Path | undefined
  /** What of this one leads there; its id where that is undefined. */
  element: Path | undefined
  /** How it is searched by that. */
  parameter: string
  /** Whether there may be several, which then are a table below. */
  multiple: boolean
}

export interface Report {
  main: Block & { search: string; wanted: Path | undefined }
  links: Link[]
}

interface Extension {
  url?: string
  extension?: Extension[]
  [value: `value${string}`]: unknown
}

/** The profile of reports among the Basic resources. */
export const reportProfile = 'http://ihris.org/fhir/StructureDefinition/iHRISRelationship'

/** Throws `SourceProblem`: OTHER_PROTOCOL where it is no report, NOT_SUPPORTED for a path that is not understood. */
export function reportOf(resource: unknown): Report {
  const { extension = [] } = resource as { extension?: Extension[] }
  const details = extension.find((one) => ends(one, 'iHRISReportDetails'))
  if (!details) throw strange('iHRIS', 'a report')
  const query = textIn(details, 'query')
  const main = {
    ...blockOf(details),
    search: textIn(details, 'initialFilter') ?? '',
    wanted: query ? fhirPath(query) : undefined,
  }
  return { main, links: extension.filter((one) => ends(one, 'iHRISReportLink')).map(linkOf) }
}

/** What it is called by programs and by people. */
export function titleOf(resource: unknown): { code: string | undefined; name: string | undefined } {
  const { extension = [] } = resource as { extension?: Extension[] }
  const details = extension.find((one) => ends(one, 'iHRISReportDetails'))
  return { code: details && textIn(details, 'name'), name: details && textIn(details, 'label') }
}

function blockOf(block: Extension): Block {
  const resource = textIn(block, 'resource')
  if (resource === undefined) throw strange('iHRIS', 'a resource in its report')
  const columns = (block.extension ?? []).flatMap((one): ReportColumn[] => {
    const [name, path] = [textIn(one, 'name'), textIn(one, 'fhirpath')]
    if (!ends(one, 'iHRISReportElement') || name === undefined || path === undefined) return []
    return [{ name, label: textIn(one, 'display') ?? name, value: fhirPath(path) }]
  })
  return { name: textIn(block, 'name') ?? resource, resource, columns }
}

function linkOf(link: Extension): Link {
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

const ends = ({ url = '' }: Extension, name: string): boolean => url.endsWith(`/${name}`)

const textIn = ({ extension = [] }: Extension, url: string): string | undefined =>
  textOf(extension.find((one) => one.url === url)?.['valueString'])
