import { fieldsOf, textOf } from '../http/answers.ts'
import type { Http } from '../http/connection.ts'
import type { KnownColumn } from '../tables/table-spool.ts'

/** What is known of submissions before any is read. */
export interface Form {
  columns: KnownColumn[]
  /** Paths of questions for a place on earth. */
  points: ReadonlySet<string>
}

/** Answers of these kinds of questions are what their values are; those of all others are texts, whatever they look like. */
const typed = /^(integer|decimal|range|date|datetime|time|start|end|today|begin_|end_|note|geopoint|start-geopoint)/i

/** As the server writes all submissions. */
const always: KnownColumn[] = [
  { path: '_id', dataType: 'BIGINT' },
  { path: '_uuid', dataType: 'TEXT' },
  { path: '_submission_time', dataType: 'TIMESTAMPTZ' },
  { path: '_submitted_by', dataType: 'TEXT' },
  { path: '_status', dataType: 'TEXT' },
  { path: '_xform_id_string', dataType: 'TEXT' },
  { path: '__version__', dataType: 'TEXT' },
  { path: 'meta/instanceID', dataType: 'TEXT' },
  { path: 'formhub/uuid', dataType: 'TEXT' },
]

/** The form as it is deployed now. Answers to questions that only earlier versions had come as what their values are. */
export async function formOf(http: Http, survey: string): Promise<Form> {
  const what = `The survey "${survey}"`
  const asset = fieldsOf(
    await http.json(`api/v2/assets/${encodeURIComponent(survey)}/`, { what, query: { format: 'json' } }),
    'KoboToolbox',
  )
  const content = (asset['content'] ?? {}) as { survey?: unknown }
  const questions = Array.isArray(content.survey) ? (content.survey as Record<string, unknown>[]) : []
  const columns = [...always]
  const points = new Set<string>()
  const inside: { name: string; repeats: boolean }[] = []
  for (const question of questions) {
    const type = textOf(question?.['type']) ?? ''
    const name = textOf(question?.['name']) ?? textOf(question?.['$autoname']) ?? ''
    if (type.startsWith('begin_')) inside.push({ name, repeats: /repeat/.test(type) })
    else if (type.startsWith('end_')) inside.pop()
    else if (name !== '') {
      const path = [...inside.map((group) => group.name), name].join('/')
      if (type.endsWith('geopoint')) points.add(path)
      else if (!typed.test(type)) columns.push(columnOf(path, inside))
    }
  }
  return { columns, points }
}

/** In the table of the innermost group that repeats, by the path below it. */
function columnOf(path: string, inside: readonly { name: string; repeats: boolean }[]): KnownColumn {
  const groups: string[] = []
  let below: string[] = []
  let depth = 0
  for (const { name, repeats } of inside) {
    depth += 1
    below.push(name)
    if (!repeats) continue
    groups.push(below.join('/'))
    below = []
  }
  const own = path
    .split('/')
    .slice(depth - below.length)
    .join('/')
  return { path: own, dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}
