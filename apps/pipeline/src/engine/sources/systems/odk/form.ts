import { fieldsOf, listIn, textOf } from '../http/answers.ts'
import type { Http } from '../http/connection.ts'
import type { KnownColumn } from '../tables/table-spool.ts'

/** Answers of these kinds are what their values are; those of all others are texts, whatever they look like. */
const typed = /^(int|decimal|boolean|date|time|dateTime|geopoint|geotrace|geoshape|structure|repeat)$/

/** As the server writes all submissions. */
const always: KnownColumn[] = [
  { path: '__id', dataType: 'TEXT' },
  { path: '__system.submissionDate', dataType: 'TIMESTAMPTZ' },
  { path: '__system.updatedAt', dataType: 'TIMESTAMPTZ' },
  { path: '__system.deletedAt', dataType: 'TIMESTAMPTZ' },
  ...['submitterId', 'submitterName', 'status', 'reviewState', 'deviceId', 'formVersion'].map((own) => ({
    path: `__system.${own}`,
    dataType: 'TEXT' as const,
  })),
]

/** What is known of submissions before any is read: the questions of all versions of the form, as OData spells them. */
export async function formOf(http: Http, project: string, form: string): Promise<KnownColumn[]> {
  const what = `The form "${form}" of project ${project}`
  const path = `v1/projects/${encodeURIComponent(project)}/forms/${encodeURIComponent(form)}/fields`
  const fields = listIn(await http.json(path, { what, query: { odata: true } }), 'ODK Central')
  const columns = [...always]
  const repeats: string[] = []
  for (const field of fields) {
    const { path: given, type } = fieldsOf(field, 'ODK Central')
    const place = textOf(given) ?? ''
    if (type === 'repeat') repeats.push(place)
    if (place !== '' && !typed.test(textOf(type) ?? '')) columns.push(columnOf(place, repeats))
  }
  return columns
}

/** In the table of the innermost group that repeats, by the path below it. */
function columnOf(place: string, repeats: readonly string[]): KnownColumn {
  const groups: string[] = []
  let at = ''
  // An outer group stands before those inside of it.
  for (const repeat of repeats) {
    if (!repeat.startsWith(`${at}/`) || !place.startsWith(`${repeat}/`)) continue
    groups.push(pointed(repeat.slice(at.length + 1)))
    at = repeat
  }
  return { path: pointed(place.slice(at.length + 1)), dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}

const pointed = (path: string): string => path.replaceAll('/', '.')
