import { parseObject, parseList, toArray, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import { requestFittingPage } from '../http-connector/paging.ts'
import { createQuestionColumn, type KnownColumn } from '../http-connector/declared-column.ts'

export interface CommCareApplication {
  name: string
  modules: CommCareModule[]
}

interface CommCareModule {
  name: string
  caseType: string | undefined
  forms: readonly unknown[]
}

export interface CommCareForm {
  name: string
  /** The path of the form in the user interface: `Application / Module / Form`. */
  menuPath: string
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

/** Lists the applications of a project space with their modules, forms and questions. */
export async function listApplications(http: HttpSession, domain: string): Promise<CommCareApplication[]> {
  const applications: CommCareApplication[] = []
  let limit = maxApplicationsPerPage
  for (;;) {
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
  const { name, modules } = parseObject(application, commCareName)
  return { name: getTranslation(name) ?? '', modules: toArray(modules).map(parseModule) }
}

function parseModule(module: unknown): CommCareModule {
  const { name, case_type: caseType, forms } = parseObject(module, commCareName)
  return { name: getTranslation(name) ?? '', caseType: toText(caseType), forms: toArray(forms) }
}

/**
 * Returns the forms by their xmlns. Several applications can contain the same form; its columns then come from its
 * questions in all of them.
 */
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
  menuPath: [application, module, name].filter(Boolean).join(' / '),
  code: toText(code),
  columns: [],
  repeats: new Set(),
  geopoints: new Set(),
})

/** Question types with answers that are always text. */
const textTypePattern = /^(text|select|mselect|barcode|secret|phonenumber|image|audio|video|signature)$/i

/**
 * Adds the repeat groups, the geopoints, and the columns of text questions to a form. `value` is the path of a question
 * or a group, and `repeat` the path of the repeat group that contains it. A repeat group is known from its own entry or
 * from its questions.
 */
function addQuestions(form: CommCareForm, questions: readonly Record<string, unknown>[]): void {
  for (const { repeat, tag, value, type } of questions) {
    if (tag === 'repeat' || type === 'Repeat') form.repeats.add(getFormPath(value))
    if (toText(repeat) !== undefined) form.repeats.add(getFormPath(repeat))
  }
  const columnIds = new Set(form.columns.map(getColumnId))
  for (const { tag, value, type } of questions) {
    const path = getFormPath(value)
    if (path === '') continue
    const typeName = toText(type) ?? ''
    if (/^geopoint$/i.test(typeName)) form.geopoints.add(path)
    const hasTextAnswers = textTypePattern.test(typeName) || toText(tag)?.startsWith('select')
    if (!hasTextAnswers) continue
    // The first segment is `form`, which the paths of repeat groups do not contain.
    const isRepeatGroup = ([, ...segments]: readonly string[]) => form.repeats.has(segments.join('/'))
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
