import { parseObject, toText } from '../http-connector/parse-response.ts'
import type { HttpSession } from '../http-connector/http-session.ts'
import type { SystemContext, RecordPage, RecordStream } from '../http-connector/http-system.ts'
import type { KnownColumn } from '../http-connector/record-tables.ts'
import type { Dhis2Settings } from './dhis2.ts'
import { type Dhis2Server, isTextual, readServer, valueOf } from './server.ts'

const pageSize = 500
const fields =
  'event,status,program,programStage,enrollment,trackedEntity,orgUnit,occurredAt,scheduledAt,createdAt,updatedAt,completedAt,deleted,followUp,geometry,attributeOptionCombo,storedBy,notes[note,storedAt,storedBy,value],dataValues[dataElement,value]'

interface ProgramStage {
  id: string
  name: string
  program: string
  /** Data elements by id. */
  elements: Map<string, { column: string; valueType: unknown }>
}

/** Events of programs: a table for each stage, with a column for each of its data elements. */
export async function events({ http, settings }: SystemContext<Dhis2Settings>): Promise<RecordStream[]> {
  const server = await readServer(http)
  const stages: ProgramStage[] = []
  for (const program of settings.programs ?? []) stages.push(...(await stagesOf(http, program)))
  return stages.map((stage): RecordStream => {
    const twice = stages.filter(({ name }) => name === stage.name).length > 1
    return {
      name: twice ? `${stage.name} ${stage.id}` : stage.name,
      key: ['event'],
      columns: columnsOf(stage),
      pages: (cursor) => pagesOf(http, { settings, server, stage, cursor }),
    }
  })
}

async function stagesOf(http: HttpSession, program: string): Promise<ProgramStage[]> {
  const asked = 'programStages[id,name,programStageDataElements[dataElement[id,code,name,valueType]]]'
  const what = `The program "${program}"`
  const answer = await http.getJson(`api/programs/${encodeURIComponent(program)}`, {
    query: { fields: asked },
    subject: what,
  })
  const stages = parseObject(answer, 'DHIS2')['programStages']
  return (Array.isArray(stages) ? stages : []).map((given) => {
    const { id, name, programStageDataElements: some } = parseObject(given, 'DHIS2')
    const elements: ProgramStage['elements'] = new Map()
    for (const one of Array.isArray(some) ? (some as { dataElement?: Record<string, unknown> }[]) : []) {
      const { id: uid, name: column, valueType } = one.dataElement ?? {}
      const known = toText(uid)
      if (known) elements.set(known, { column: toText(column) ?? known, valueType })
    }
    return { id: toText(id) ?? '', name: toText(name) ?? toText(id) ?? '', program, elements }
  })
}

function columnsOf({ elements }: ProgramStage): KnownColumn[] {
  const own = ['event', 'status', 'program', 'programStage', 'orgUnit', 'enrollment', 'trackedEntity']
  const texts = [...elements.values()].filter(({ valueType }) => isTextual(valueType)).map(({ column }) => column)
  return [...own, ...texts].map((path) => ({ path, dataType: 'TEXT' }))
}

interface EventQuery {
  settings: Dhis2Settings
  server: Dhis2Server
  stage: ProgramStage
  cursor: unknown
}

/**
 * Reads events in the order of their creation, including deleted ones, so that changes during the read do not shift the
 * pages. A full read omits deleted events; an increment returns them marked as deleted.
 */
async function* pagesOf(
  http: HttpSession,
  { settings, server, stage, cursor }: EventQuery,
): AsyncGenerator<RecordPage, void, void> {
  const { orgUnits = [], startDate, endDate } = settings
  const mode = server.release > 0 && server.release < 41 ? 'ouMode' : 'orgUnitMode'
  for (const unit of orgUnits.length > 0 ? orgUnits : [undefined]) {
    const query = {
      program: stage.program,
      programStage: stage.id,
      orgUnit: unit,
      [mode]: unit === undefined ? 'ACCESSIBLE' : 'DESCENDANTS',
      occurredAfter: startDate,
      occurredBefore: endDate,
      updatedAfter: typeof cursor === 'string' ? cursor : undefined,
      includeDeleted: true,
      fields,
      order: 'createdAt:asc',
      pageSize,
    }
    for (let page = 1; ; page += 1) {
      const answer = parseObject(await http.getJson('api/tracker/events', { query: { ...query, page } }), 'DHIS2')
      // Until 2.40, the field is `instances`.
      const found = (answer['events'] ?? answer['instances'] ?? []) as unknown[]
      const wanted = cursor === undefined ? found.filter((event) => !isDeleted(event)) : found
      // Many units have no events, so a response without events is not a page.
      if (wanted.length > 0) yield { records: wanted.map((event) => withColumns(event, stage)) }
      const pager = parseObject(answer['pager'] ?? {}, 'DHIS2')
      if (found.length === 0 || (toText(pager['nextPage']) === undefined && found.length < pageSize)) break
    }
  }
  yield { records: [], cursor: server.from }
}

const isDeleted = (event: unknown): boolean => (event as { deleted?: unknown } | null)?.deleted === true

/** Adds a column for each data element, by its name. Elements that the stage no longer has keep their ids. */
function withColumns(event: unknown, { elements }: ProgramStage): unknown {
  if (typeof event !== 'object' || event === null) return event
  const { dataValues, ...own } = event as { dataValues?: unknown }
  const columns: Record<string, unknown> = { ...own }
  for (const one of Array.isArray(dataValues) ? (dataValues as Record<string, unknown>[]) : []) {
    const [id, value] = [toText(one?.['dataElement']), one?.['value']]
    const element = id === undefined ? undefined : elements.get(id)
    const column = element?.column ?? id
    if (column && typeof value === 'string')
      columns[column in own ? `${column} ${id}` : column] = valueOf(value, element?.valueType)
  }
  return columns
}
