import { parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { requestFittingPage } from '../http-connector/paging.ts'
import { createQuestionColumn, type KnownColumn } from '../http-connector/declared-column.ts'

export interface CommCareApplication {
  name: string
  modules: { name: string; type: string | undefined; forms: readonly unknown[] }[]
}

export interface CommCareForm {
  name: string
  /** The path of the form in the user interface: `Application / Module / Form`. */
  place: string
  code: string | undefined
  columns: KnownColumn[]
  /** Paths of repeat groups, such as `child/toy`, relative to the form. */
  repeats: Set<string>
  /** Paths of geopoint questions, relative to the form. */
  geopoints: Set<string>
}

export const commCareName = 'CommCare'
/** Applications per page. The page is small, because each application contains all its questions. */
const maxApplicationsPerPage = 10

export async function listApplications(http: HttpSession, domain: string): Promise<CommCareApplication[]> {
  const applications: CommCareApplication[] = []
  for (let limit = maxApplicationsPerPage; ; ) {
    const { page, pageSize } = await requestFittingPage(limit, (size) =>
      http.getJson(`a/${domain}/api/application/v1/`, {
        subject: `The project space "${domain}"`,
        query: { limit: size, offset: applications.length },
      }),
    )
    limit = pageSize
    const objects = parseList(page, commCareName, 'objects')
    applications.push(...objects.map(parseApplication))
    const { next } = parseObject(parseObject(page, commCareName)['meta'], commCareName)
    if (toText(next) === undefined || objects.length === 0) return applications
  }
}

function parseApplication(application: unknown): CommCareApplication {
  const { name: title, modules } = parseObject(application, commCareName)
  return {
    name: getTranslation(title) ?? '',
    modules: toArray(modules).map((module) => {
      const { name: title, case_type: type, forms } = parseObject(module, commCareName)
      return { name: getTranslation(title) ?? '', type: toText(type), forms: toArray(forms) }
    }),
  }
}

const toArray = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : [])

/** Returns the forms by their xmlns. A form's columns come from its questions in all applications that contain it. */
export function listForms(applications: readonly CommCareApplication[]): Map<string, CommCareForm> {
  const forms = new Map<string, CommCareForm>()
  for (const application of applications)
    for (const module of application.modules)
      for (const moduleForm of module.forms) {
        const { xmlns, name: title, unique_id: code, questions } = parseObject(moduleForm, commCareName)
        const id = toText(xmlns)
        if (id === undefined) continue
        const form = forms.get(id) ?? createForm(getTranslation(title) ?? id, application.name, module.name, code)
        forms.set(id, form)
        addQuestions(form, toArray(questions) as Record<string, unknown>[])
      }
  return forms
}

const createForm = (name: string, application: string, module: string, code: unknown): CommCareForm => ({
  name,
  place: [application, module, name].filter(Boolean).join(' / '),
  code: toText(code),
  columns: [],
  repeats: new Set(),
  geopoints: new Set(),
})

/** Question types with answers that are always text. */
const textTypePattern = /^(text|select|mselect|barcode|secret|phonenumber|image|audio|video|signature)$/i

function addQuestions(form: CommCareForm, questions: readonly Record<string, unknown>[]): void {
  for (const { repeat, tag, value, type } of questions) {
    if (tag === 'repeat' || type === 'Repeat') form.repeats.add(getFormPath(value))
    if (toText(repeat) !== undefined) form.repeats.add(getFormPath(repeat))
  }
  const columnIds = new Set(form.columns.map(getColumnId))
  for (const { tag, value, type } of questions) {
    const path = getFormPath(value)
    if (path === '') continue
    if (/^geopoint$/i.test(toText(type) ?? '')) form.geopoints.add(path)
    if (!textTypePattern.test(toText(type) ?? '') && !toText(tag)?.startsWith('select')) continue
    const isRepeatGroup = ([, ...groups]: readonly string[]) => form.repeats.has(groups.join('/'))
    const column = createQuestionColumn(['form', ...path.split('/')], isRepeatGroup, '.')
    if (!columnIds.has(getColumnId(column))) form.columns.push(column)
    columnIds.add(getColumnId(column))
  }
}

const getColumnId = ({ path, groups = [] }: KnownColumn): string => [...groups, path].join('\0')

/** Returns the path relative to the form: `child/name` for `/data/child/name`. */
const getFormPath = (path: unknown): string => (toText(path) ?? '').split('/').slice(2).join('/')

/**
 * Returns a name as text. A translated name is an object by language; the result is the English name or, if absent, the
 * first one.
 */
function getTranslation(name: unknown): string | undefined {
  if (typeof name !== 'object' || name === null) return toText(name)
  const { en, ...otherTranslations } = name as Record<string, unknown>
  return toText(en) ?? Object.values(otherTranslations).map(toText).find(Boolean)
}
