import { declareColumns, type KnownColumn } from '../http-connector/declared-column.ts'
import { parseObject, toArray, toText } from '../http-connector/parse-response.ts'
import type { HttpSession, QueryParameters } from '../http-connector/http-session.ts'
import type { SystemContext, RecordPage, RecordStream } from '../http-connector/http-system.ts'
import {
  type Dhis2Settings,
  type Dhis2Server,
  isTextual,
  isLastPage,
  objectsPerPage,
  parseValue,
  readServerInfo,
} from './dhis2-server-info.ts'

const eventFields =
  'event,status,program,programStage,enrollment,trackedEntity,orgUnit,occurredAt,scheduledAt,createdAt,updatedAt,completedAt,deleted,followUp,geometry,attributeOptionCombo,storedBy,notes[note,storedAt,storedBy,value],dataValues[dataElement,value]'

interface ProgramStage {
  id: string
  name: string
  program: string
  /** Column name and value type of each data element, by its id. */
  elements: Map<string, { column: string; valueType: unknown }>
}

/** Returns one stream per stage of the selected programs. Each data element of the stage becomes a column. */
export async function createEventStreams({ http, settings }: SystemContext<Dhis2Settings>): Promise<RecordStream[]> {
  const server = await readServerInfo(http)
  const stages: ProgramStage[] = []
  for (const program of settings.programs ?? []) stages.push(...(await readStages(http, program)))
  return stages.map((stage): RecordStream => {
    const isUnique = stages.filter(({ name }) => name === stage.name).length === 1
    return {
      name: isUnique ? stage.name : `${stage.name} ${stage.id}`,
      key: ['event'],
      columns: listColumns(stage),
      readPages: (cursor) => readEventPages(http, { settings, server, stage, cursor }),
    }
  })
}

/** Reads the stages of a program, with the name and the value type of each data element by id. */
async function readStages(http: HttpSession, program: string): Promise<ProgramStage[]> {
  const response = await http.getJson(`api/programs/${encodeURIComponent(program)}`, {
    query: { fields: 'programStages[id,name,programStageDataElements[dataElement[id,code,name,valueType]]]' },
    subject: `The program "${program}"`,
  })
  const stages = parseObject(response, 'DHIS2')['programStages']
  return toArray(stages).map((stage) => {
    const { id: stageId, name: stageName, programStageDataElements } = parseObject(stage, 'DHIS2')
    const elements: ProgramStage['elements'] = new Map()
    for (const stageElement of toArray(programStageDataElements) as StageElement[]) {
      const { id, name, valueType } = stageElement.dataElement ?? {}
      const elementId = toText(id)
      if (elementId) elements.set(elementId, { column: toText(name) ?? elementId, valueType })
    }
    const id = toText(stageId) ?? ''
    return { id, name: toText(stageName) ?? id, program, elements }
  })
}

interface StageElement {
  dataElement?: Record<string, unknown>
}

/** Returns the columns that are always text. The types of the other columns are inferred from the values. */
function listColumns({ elements }: ProgramStage): KnownColumn[] {
  const textColumns = [...elements.values()].filter(({ valueType }) => isTextual(valueType)).map(({ column }) => column)
  const idColumns = ['event', 'status', 'program', 'programStage', 'orgUnit', 'enrollment', 'trackedEntity']
  return declareColumns('TEXT', [...idColumns, ...textColumns])
}

interface EventQuery {
  settings: Dhis2Settings
  server: Dhis2Server
  stage: ProgramStage
  cursor: unknown
}

/**
 * Reads events, including deleted ones, in the order of their creation, so that changes during the read do not shift
 * the pages. A full read then leaves out deleted events; an increment returns them with `deleted: true`.
 */
async function* readEventPages(http: HttpSession, eventQuery: EventQuery): AsyncGenerator<RecordPage, void, void> {
  const { settings, server, stage, cursor } = eventQuery
  const { orgUnits = [] } = settings
  // If no units are selected, a single request covers all units that the account can access.
  const requestedUnits = orgUnits.length > 0 ? orgUnits : [undefined]
  for (const unit of requestedUnits) {
    const query = createEventParameters(eventQuery, unit)
    for (let page = 1; ; page += 1) {
      const response = parseObject(await http.getJson('api/tracker/events', { query: { ...query, page } }), 'DHIS2')
      // DHIS2 before 2.41 calls this field `instances`.
      const returnedEvents = (response['events'] ?? response['instances'] ?? []) as unknown[]
      const events = cursor === undefined ? returnedEvents.filter((event) => !isDeleted(event)) : returnedEvents
      // Empty pages are not yielded, because many units have no events.
      if (events.length > 0) yield { records: events.map((event) => nameDataValues(event, stage)) }
      if (isLastPage(response, returnedEvents.length)) break
    }
  }
  yield { records: [], cursor: server.nextCursor }
}

const isDeleted = (event: unknown): boolean => (event as { deleted?: unknown } | null)?.deleted === true

/** Returns the query parameters for the events of a unit and those below it or, without a unit, of all units. */
function createEventParameters(
  { settings, server, stage, cursor }: EventQuery,
  unit: string | undefined,
): QueryParameters {
  const isReleaseKnown = server.release > 0
  const modeParameter = isReleaseKnown && server.release < 41 ? 'ouMode' : 'orgUnitMode'
  return {
    program: stage.program,
    programStage: stage.id,
    orgUnit: unit,
    [modeParameter]: unit === undefined ? 'ACCESSIBLE' : 'DESCENDANTS',
    occurredAfter: settings.startDate,
    occurredBefore: settings.endDate,
    updatedAfter: typeof cursor === 'string' ? cursor : undefined,
    includeDeleted: true,
    fields: eventFields,
    order: 'createdAt:asc',
    pageSize: objectsPerPage,
  }
}

/**
 * Converts the event's data values to fields with the names of their data elements. The field of a data element that
 * the stage no longer contains is named by its id. If the event has a field of the same name, the id is appended.
 */
function nameDataValues(event: unknown, { elements }: ProgramStage): unknown {
  if (typeof event !== 'object' || event === null) return event
  const { dataValues, ...fields } = event as { dataValues?: unknown }
  const record: Record<string, unknown> = { ...fields }
  for (const dataValue of toArray(dataValues) as (Record<string, unknown> | null)[]) {
    const id = toText(dataValue?.['dataElement'])
    const value = dataValue?.['value']
    if (!id || typeof value !== 'string') continue
    const element = elements.get(id)
    const column = element?.column ?? id
    const fieldName = column in fields ? `${column} ${id}` : column
    record[fieldName] = parseValue(value, element?.valueType)
  }
  return record
}
