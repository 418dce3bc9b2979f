import { declareColumns, type KnownColumn } from '../http-connector/declared-column.ts'
import { createOption, parseText, parseObject, parseList, toText } from '../http-connector/parse-response.ts'
import { splitIntoMonths } from '../http-connector/paging.ts'
import type { QueryParameters } from '../http-connector/http-session.ts'
import type { SourceOption } from '../connector.ts'
import {
  type SystemContext,
  type SettingsOf,
  type RecordStream,
  type HttpSystem,
  requireSecret,
} from '../http-connector/http-system.ts'
import { readJsonRecords } from './json-records.ts'
import type { connectorTypes, DataType } from '@sluice/contracts'

type BhimaSettings = SettingsOf<typeof connectorTypes.bhima>

const bhimaName = 'BHIMA'

/**
 * Reads BHIMA, a hospital information system. Each resource of one project (a facility) becomes a table. The API has no
 * modification times, which increments would need.
 */
export const bhima: HttpSystem<BhimaSettings> = {
  name: bhimaName,

  connect({ apiSource: { url, username }, project }, secrets) {
    const password = requireSecret(secrets, 'password', 'the password of an account')
    return {
      url,
      async signIn(http): Promise<Readonly<Record<string, string>>> {
        // Listing the projects needs no session, and no project is selected yet.
        if (project === undefined) return {}
        const body = { username, password, project: Number(project) }
        const session = await http.getJson('auth/login', { method: 'POST', body, isIdempotent: true })
        return { 'x-access-token': parseText(session, bhimaName, 'token') }
      },
    }
  },

  async testConnection(context) {
    await listProjects(context)
  },

  listOptions: (kind, context) => (kind === 'projects' ? listProjects(context) : undefined),

  async openStreams({ http, settings }) {
    return settings.resources.map((resourceName): RecordStream => {
      const resource: BhimaResource = bhimaResources[resourceName]
      return {
        name: resourceName.toLowerCase(),
        key: resource.key,
        columns: resource.columns,
        // BHIMA's JSON contains timestamps as text, so types are inferred from texts.
        inferStrings: true,
        async *readPages() {
          const dateRanges = resource.dayParameters ? listDateRanges(settings) : [{}]
          for (const dateRange of dateRanges) {
            const query = createListQuery(resource, settings.project, dateRange)
            // BHIMA returns a whole list without pages, so the list is downloaded to disk and read from there.
            using list = await http.download(resource.path, { subject: resource.path, query })
            for await (const page of readJsonRecords(list.chunks(), bhimaName)) {
              const records = page.filter((record) => belongsToProject(record, settings.project))
              if (records.length > 0) yield { records }
            }
          }
        },
      }
    })
  },
}

/**
 * Returns the query parameters of a list request: those of the resource, the project, and the first and last day.
 * Leaves out filters that the resource does not support.
 */
function createListQuery(
  { query, dayParameters, isFilteredByProject }: BhimaResource,
  project: string,
  { start, end }: DateRange,
): QueryParameters {
  const projectQuery = isFilteredByProject ? { project_id: project } : {}
  if (!dayParameters) return { ...query, ...projectQuery }
  const [startParameter, endParameter] = dayParameters
  return { ...query, ...projectQuery, [startParameter]: start, [endParameter]: end }
}

/**
 * True if a record has the selected project, or none. Some lists contain records of all projects that the account can
 * read.
 */
function belongsToProject(record: unknown, project: string): boolean {
  const recordProject = toText((record as { project_id?: unknown } | null)?.project_id)
  return recordProject === undefined || recordProject === project
}

async function listProjects({ http, settings: { project } }: SystemContext<BhimaSettings>): Promise<SourceOption[]> {
  // The full list, with abbreviations, needs a session, which exists only if a project is selected.
  const query = { complete: project === undefined ? undefined : 1 }
  return parseList(await http.getJson('projects', { query }), bhimaName).flatMap((item) => {
    const { id, abbr, name: title } = parseObject(item, bhimaName)
    return createOption(id, { code: abbr, name: title })
  })
}

/** A range of days, both inclusive, as `YYYY-MM-DD`. An absent start or end leaves that side open. */
interface DateRange {
  start?: string
  end?: string
}

/**
 * Splits the date range of the settings into ranges of at most a month, because lists have no pages and a long list may
 * time out. Without a start date, returns a single range. Without an end date, the last range has no end, so that
 * records with future dates are read too.
 */
export function listDateRanges(
  { startDate, endDate }: { startDate?: string; endDate?: string },
  today = new Date().toISOString().slice(0, 10),
): DateRange[] {
  if (startDate === undefined) return [endDate === undefined ? {} : { end: endDate }]
  const dateRanges: DateRange[] = splitIntoMonths(startDate, endDate ?? today)
  if (endDate === undefined) delete dateRanges.at(-1)!.end
  return dateRanges
}

type ResourceName = SettingsOf<typeof connectorTypes.bhima>['resources'][number]

interface BhimaResource {
  path: string
  /** The key columns of a row. Empty if the list has no key. */
  key: readonly string[]
  columns: readonly KnownColumn[]
  query?: Readonly<Record<string, string | number>>
  /** The query parameters for the first and the last day. Absent if the list cannot be filtered by day. */
  dayParameters?: readonly [string, string]
  isFilteredByProject?: boolean
}

const periodParameters = ['custom_period_start', 'custom_period_end'] as const
const dateParameters = ['dateFrom', 'dateTo'] as const

const toColumns = (dataType: DataType, ...paths: string[]): KnownColumn[] => declareColumns(dataType, paths)

/**
 * The resources of BHIMA. Ids, codes and numbers that users assign are always text, even if they contain only digits.
 */
const bhimaResources: Readonly<Record<ResourceName, BhimaResource>> = {
  PATIENTS: {
    path: 'patients',
    key: ['uuid'],
    columns: [
      ...toColumns('TEXT', 'uuid', 'reference', 'display_name', 'hospital_no', 'sex', 'debtor_uuid'),
      ...toColumns('TIMESTAMPTZ', 'registration_date'),
    ],
    query: { detailed: 1 },
    dayParameters: periodParameters,
    isFilteredByProject: true,
  },
  VISITS: {
    path: 'patients/visits',
    key: ['uuid'],
    columns: [...toColumns('TEXT', 'uuid', 'patient_uuid'), ...toColumns('TIMESTAMPTZ', 'start_date', 'end_date')],
    dayParameters: periodParameters,
  },
  INVOICES: {
    path: 'invoices',
    key: ['uuid'],
    columns: [
      ...toColumns('TEXT', 'uuid', 'reference', 'debtor_uuid', 'service_uuid'),
      ...toColumns('TIMESTAMPTZ', 'date'),
    ],
    dayParameters: periodParameters,
    isFilteredByProject: true,
  },
  CASH: {
    path: 'cash',
    key: ['uuid'],
    columns: [...toColumns('TEXT', 'uuid', 'reference', 'debtor_uuid'), ...toColumns('TIMESTAMPTZ', 'date')],
    dayParameters: periodParameters,
  },
  STOCK_MOVEMENTS: {
    path: 'stock/movements',
    // A stock adjustment (up and down) and a transfer (from and to) are two rows of one document, so the key also
    // contains the direction.
    key: ['document_uuid', 'is_exit'],
    columns: [...toColumns('TEXT', 'document_uuid', 'depot_uuid'), ...toColumns('TIMESTAMPTZ', 'date')],
    dayParameters: dateParameters,
  },
  // Movements have no key: their UUID is that of the lot, and a lot can have many movements.
  STOCK_LOT_MOVEMENTS: {
    path: 'stock/lots/movements',
    key: [],
    columns: [
      ...toColumns('TEXT', 'uuid', 'label', 'code', 'document_uuid', 'depot_uuid', 'inventory_uuid'),
      ...toColumns('TIMESTAMPTZ', 'date'),
    ],
    dayParameters: dateParameters,
  },
  // The path includes depots, because a lot can be in several. The list without depots contains only purchased lots.
  STOCK_LOTS: {
    path: 'stock/lots/depots',
    key: ['uuid', 'depot_uuid'],
    query: { fullList: 1, skipTags: 1 },
    columns: toColumns('TEXT', 'uuid', 'label', 'code', 'depot_uuid', 'inventory_uuid'),
  },
  DEPOTS: { path: 'depots', key: ['uuid'], columns: toColumns('TEXT', 'uuid', 'text') },
  INVENTORY: { path: 'inventory/metadata', key: ['uuid'], columns: toColumns('TEXT', 'uuid', 'code', 'label') },
  SERVICES: { path: 'services', key: [], columns: toColumns('TEXT', 'name') },
  EMPLOYEES: { path: 'employees', key: ['uuid'], columns: toColumns('TEXT', 'uuid', 'code', 'display_name') },
  FISCAL_YEARS: { path: 'fiscal', key: ['id'], columns: toColumns('TEXT', 'label') },
  DEBTOR_GROUPS: { path: 'debtor_groups', key: ['uuid'], columns: toColumns('TEXT', 'uuid', 'name') },
  GENERAL_LEDGER: { path: 'general_ledger', key: [], columns: toColumns('TEXT', 'label') },
}
