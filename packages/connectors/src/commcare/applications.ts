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
        const name = getTranslation(title) ?? id
        const form = forms.get(id) ?? createForm(name, [application.name, module.name, name], code)
        forms.set(id, form)
        addQuestions(form, toArray(questions) as Record<string, unknown>[])
      }
  return forms
}

const createForm = (name: string, menuNames: readonly string[], code: unknown): CommCareForm => ({
  name,
  menuPath: menuNames.filter(Boolean).join(' / '),
  code: toText(code),
  columns: [],
  repeats: new Set(),
  geopoints: new Set(),
})

/** Question types with answers that are always text. */
const textTypePattern = /^(text|select|mselect|barcode|secret|phonenumber|image|audio|video|signature)$/i

/** Adds the repeat groups, the geopoints, and the columns of text questions to a form. */
function addQuestions(form: CommCareForm, questions: readonly Record<string, unknown>[]): void {
  for (const path of listRepeatPaths(questions)) form.repeats.add(path)
  const columnIds = new Set(form.columns.map(getColumnId))
  for (const question of questions) {
    const path = getFormPath(question['value'])
    if (path === '') continue
    if (/^geopoint$/i.test(toText(question['type']) ?? '')) form.geopoints.add(path)
    if (!hasTextAnswers(question)) continue
    const column = createTextColumn(path, form.repeats)
    const columnId = getColumnId(column)
    if (columnIds.has(columnId)) continue
    columnIds.add(columnId)
    form.columns.push(column)
  }
}

/** Lists the paths of the repeat groups, which have an entry of their own or are named by the questions in them. */
const listRepeatPaths = (questions: readonly Record<string, unknown>[]): string[] =>
  questions.flatMap(({ tag, type, value: ownPath, repeat: pathOfGroup }) => {
    const isRepeatGroup = tag === 'repeat' || type === 'Repeat'
    const isInRepeatGroup = toText(pathOfGroup) !== undefined
    return [...(isRepeatGroup ? [getFormPath(ownPath)] : []), ...(isInRepeatGroup ? [getFormPath(pathOfGroup)] : [])]
  })

const hasTextAnswers = ({ type, tag }: Record<string, unknown>): boolean =>
  textTypePattern.test(toText(type) ?? '') || (toText(tag) ?? '').startsWith('select')

/** Returns the column of the question at a path in the form. Answers are in the field `form` of a submission. */
const createTextColumn = (path: string, repeatPaths: ReadonlySet<string>): KnownColumn =>
  createQuestionColumn(
    ['form', ...path.split('/')],
    ([_form, ...groupNames]) => repeatPaths.has(groupNames.join('/')),
    '.',
  )

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
