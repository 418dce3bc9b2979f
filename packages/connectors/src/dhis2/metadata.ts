import { declareColumns } from '../http-connector/declared-column.ts'
import { parseList } from '../http-connector/parse-response.ts'
import type { HttpSession, QueryParameters } from '../http-connector/http-session.ts'
import type { SystemContext, RecordPage, RecordStream } from '../http-connector/http-system.ts'
import { type Dhis2Settings, isLastPage, objectsPerPage, readServerInfo } from './dhis2-server-info.ts'

type MetadataKind = NonNullable<Dhis2Settings['metadata']>[number]

const commonFields = 'id,code,name,shortName,description,created,lastUpdated'
const unitFields = 'id,code,name,shortName,level,path,parent[id],openingDate,closedDate,geometry,created,lastUpdated'

/** The API path of each kind of metadata, and the fields that it has in addition to the common ones. */
const metadataKinds: Record<MetadataKind, { collection: string; fields: string }> = {
  DATA_SETS: { collection: 'dataSets', fields: 'periodType,categoryCombo[id],dataSetElements[dataElement[id]]' },
  DATA_ELEMENTS: {
    collection: 'dataElements',
    fields: 'valueType,domainType,aggregationType,zeroIsSignificant,categoryCombo[id],optionSet[id]',
  },
  DATA_ELEMENT_GROUPS: { collection: 'dataElementGroups', fields: 'dataElements[id]' },
  INDICATORS: {
    collection: 'indicators',
    fields: 'numerator,denominator,annualized,decimals,indicatorType[id,name,factor]',
  },
  INDICATOR_GROUPS: { collection: 'indicatorGroups', fields: 'indicators[id]' },
  PROGRAMS: { collection: 'programs', fields: 'programType,trackedEntityType[id],programStages[id]' },
  PROGRAM_STAGES: { collection: 'programStages', fields: 'program[id],repeatable,sortOrder' },
  ORGANISATION_UNITS: { collection: 'organisationUnits', fields: unitFields },
  ORGANISATION_UNIT_GROUPS: { collection: 'organisationUnitGroups', fields: 'symbol,organisationUnits[id]' },
  ORGANISATION_UNIT_LEVELS: { collection: 'organisationUnitLevels', fields: 'level' },
  CATEGORY_OPTION_COMBOS: { collection: 'categoryOptionCombos', fields: 'categoryCombo[id],categoryOptions[id]' },
  ATTRIBUTES: { collection: 'attributes', fields: 'valueType' },
}

/** Returns the stream of organisation units: all of them, or those at and below the selected units. */
export async function createOrganisationUnitStream({
  http,
  settings,
}: SystemContext<Dhis2Settings>): Promise<RecordStream> {
  const { nextCursor } = await readServerInfo(http)
  const { orgUnits = [] } = settings
  const unitFilters = orgUnits.length > 0 ? orgUnits.map((id) => [`path:like:${id}`]) : [[]]
  return createMetadataStream('organisation_units', async function* (cursor) {
    for (const unitFilter of unitFilters) {
      const query = { fields: unitFields, filter: [...unitFilter, ...createTimeFilter(cursor)] }
      for await (const page of readMetadataPages(http, 'organisationUnits', query))
        yield { records: page.records.map(addLevels) }
    }
    yield { records: [], cursor: nextCursor }
  })
}

/** Returns a stream for each selected kind of metadata. */
export async function createMetadataStreams({ http, settings }: SystemContext<Dhis2Settings>): Promise<RecordStream[]> {
  const { nextCursor } = await readServerInfo(http)
  return (settings.metadata ?? []).map((kind) => {
    const { collection, fields } = metadataKinds[kind]
    return createMetadataStream(kind.toLowerCase(), async function* (cursor) {
      const query = { fields: `${commonFields},${fields}`, filter: createTimeFilter(cursor) }
      for await (const page of readMetadataPages(http, collection, query))
        yield kind === 'ORGANISATION_UNITS' ? { records: page.records.map(addLevels) } : page
      yield { records: [], cursor: nextCursor }
    })
  })
}

const createMetadataStream = (name: string, readPages: RecordStream['readPages']): RecordStream => ({
  name,
  key: ['id'],
  columns: declareColumns('TEXT', ['id', 'code', 'name']),
  readPages,
})

/** Returns the filter for objects that changed since the cursor. Returns no filter for a full read. */
const createTimeFilter = (cursor: unknown): string[] => (typeof cursor === 'string' ? [`lastUpdated:ge:${cursor}`] : [])

/**
 * Reads pages ordered by id, so that edits during the read do not shift the pages. Only a creation or deletion shifts
 * them, by one object.
 */
async function* readMetadataPages(
  http: HttpSession,
  collection: string,
  query: QueryParameters,
): AsyncGenerator<RecordPage, void, void> {
  for (let page = 1; ; page += 1) {
    const response = await http.getJson(`api/${collection}`, {
      query: { ...query, order: 'id:asc', page, pageSize: objectsPerPage },
    })
    const records = parseList(response, 'DHIS2', collection)
    if (records.length > 0) yield { records }
    if (isLastPage(response, records.length)) return
  }
}

/**
 * Adds a column for each level of an organisation unit's path. For `/root/region/clinic`, these are `uidlevel1` with
 * `root`, `uidlevel2` with `region`, and `uidlevel3` with `clinic`.
 */
function addLevels(record: unknown): unknown {
  const path = (record as { path?: unknown } | null)?.path
  if (typeof path !== 'string') return record
  const levels = path.split('/').filter(Boolean)
  const levelColumns = levels.map((id, index) => [`uidlevel${index + 1}`, id])
  return { ...(record as object), ...Object.fromEntries(levelColumns) }
}
