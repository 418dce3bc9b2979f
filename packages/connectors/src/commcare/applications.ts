import { parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { requestFittingPage } from '../http-connector/paging.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'

export interface CommCareApplication {
  name: string
  modules: { name: string; type: string | undefined; forms: readonly unknown[] }[]
}

export interface CommCareForm {
  name: string
  /** Its path in the user interface: `Application / Module / Form`. */
  place: string
  code: string | undefined
  columns: KnownColumn[]
  /** Paths below the form of repeat groups, such as `child/toy`, and of geopoint questions. */
  repeats: Set<string>
  points: Set<string>
}

const system = 'CommCare'
/** Small, because each application contains all its questions. */
const pageSize = 10

export async function applicationsOf(http: HttpSession, domain: string): Promise<CommCareApplication[]> {
  const found: CommCareApplication[] = []
  let most = pageSize
  for (let offset = 0; ; ) {
    const { answer, limit } = await requestFittingPage(most, (some) =>
      http.getJson(`a/${domain}/api/application/v1/`, {
        subject: `The project space "${domain}"`,
        query: { limit: some, offset },
      }),
    )
    const list = parseList(answer, system, 'objects')
    found.push(...list.map(applicationOf))
    const { next } = parseObject(parseObject(answer, system)['meta'], system)
    if (toText(next) === undefined || list.length === 0) return found
    offset += list.length
    most = limit
  }
}

function applicationOf(given: unknown): CommCareApplication {
  const { name, modules } = parseObject(given, system)
  const list = Array.isArray(modules) ? (modules as unknown[]) : []
  return {
    name: spoken(name) ?? '',
    modules: list.map((one) => {
      const { name: title, case_type: type, forms } = parseObject(one, system)
      return { name: spoken(title) ?? '', type: toText(type), forms: Array.isArray(forms) ? (forms as unknown[]) : [] }
    }),
  }
}

export function formsOf(applications: readonly CommCareApplication[]): Map<string, CommCareForm> {
  const found = new Map<string, CommCareForm>()
  for (const application of applications)
    for (const module of application.modules)
      for (const given of module.forms) {
        const { xmlns, name, unique_id: code, questions } = parseObject(given, system)
        const id = toText(xmlns)
        if (id === undefined) continue
        const title = spoken(name) ?? id
        const place = [application.name, module.name, title].filter(Boolean).join(' / ')
        const fresh = { name: title, place, code: toText(code), columns: [], repeats: new Set<string>() }
        const form = found.get(id) ?? { ...fresh, points: new Set<string>() }
        found.set(id, form)
        takeQuestions(form, Array.isArray(questions) ? (questions as Record<string, unknown>[]) : [])
      }
  return found
}

/** Question types whose answers are always text. */
const texts = /^(text|select|mselect|barcode|secret|phonenumber|image|audio|video|signature)$/i

function takeQuestions(form: CommCareForm, questions: readonly Record<string, unknown>[]): void {
  for (const { repeat, tag, value, type } of questions) {
    if (tag === 'repeat' || type === 'Repeat') form.repeats.add(below(value))
    if (toText(repeat) !== undefined) form.repeats.add(below(repeat))
  }
  const known = new Set(form.columns.map((column) => columnId(column)))
  for (const { tag, value, type } of questions) {
    const path = below(value)
    if (path === '') continue
    if (/^geopoint$/i.test(toText(type) ?? '')) form.points.add(path)
    if (!texts.test(toText(type) ?? '') && !toText(tag)?.startsWith('select')) continue
    const column = columnOf(path, form.repeats)
    if (!known.has(columnId(column))) form.columns.push(column)
    known.add(columnId(column))
  }
}

const columnId = ({ path, groups = [] }: KnownColumn): string => [...groups, path].join('\0')

/** Returns the path below the form: `child/name` for `/data/child/name`. */
const below = (path: unknown): string => (toText(path) ?? '').split('/').slice(2).join('/')

/** Returns the column in the table of the innermost repeat group, by its path below that group. */
function columnOf(path: string, repeats: ReadonlySet<string>): KnownColumn {
  const groups: string[] = []
  let own = ['form']
  let at = ''
  for (const part of path.split('/')) {
    at = at === '' ? part : `${at}/${part}`
    own.push(part)
    if (!repeats.has(at)) continue
    groups.push(own.join('.'))
    own = []
  }
  return { path: own.join('.'), dataType: 'TEXT', ...(groups.length > 0 && { groups }) }
}

/** Returns a name, or the first of its translations. */
function spoken(name: unknown): string | undefined {
  if (typeof name !== 'object' || name === null) return toText(name)
  const { en, ...others } = name as Record<string, unknown>
  return toText(en) ?? Object.values(others).map(toText).find(Boolean)
}
