import { type Dhis2Settings, readServerInfo } from './dhis2-server-info.ts'
import { createAuthHeaders, missingCredentials, createOptionsQuery, parseOptions, findObjectPath } from './dhis2-api.ts'
import { SourceProblem } from '@sluice/row-stream'
import type { SystemContext, RecordStream, HttpSystem } from '../http-connector/http-system.ts'
import { createAnalyticsStream } from './analytics.ts'
import { createValueStream } from './data-values.ts'
import { createEventStreams } from './events.ts'
import { createMetadataStreams, createOrganisationUnitStream } from './metadata.ts'
import { subtractSeconds } from '../http-connector/paging.ts'
import type { SourceOption } from '../connector.ts'
import { createResponseProblem } from '../http-connector/parse-response.ts'

const streamFactories: Record<
  Dhis2Settings['content'],
  (context: SystemContext<Dhis2Settings>) => Promise<RecordStream | RecordStream[]>
> = {
  DATA_VALUES: createValueStream,
  ANALYTICS: createAnalyticsStream,
  EVENTS: createEventStreams,
  ORGANISATION_UNITS: createOrganisationUnitStream,
  METADATA: createMetadataStreams,
}

/** Reads DHIS2 2.38 or later: data values, analytics, events, organisation units and other metadata. */
export const dhis2: HttpSystem<Dhis2Settings> = {
  name: 'DHIS2',
  // DHIS2 recomputes its analytics tables completely, so analytics cannot be read in increments.
  canReadIncrement: ({ content }) => content !== 'ANALYTICS',
  // DHIS2 interprets a timestamp in its own time zone, which is at most 14 hours ahead of UTC. So the cursor is moved
  // back by 14 hours, and the `Z` at its end is removed.
  createCursor: (moment) => subtractSeconds(moment, 14 * 3_600).slice(0, 23),
  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: ['api'],
    headers: requireHeaders({ ...secrets, username }),
  }),

  async testConnection({ http }) {
    await readServerInfo(http)
  },

  listOptions(kind, context) {
    const path = findObjectPath(kind)
    return path === undefined ? undefined : listObjects(path, context)
  },

  openStreams: (context) => streamFactories[context.settings.content](context),
}

const maxOptions = 1_000

/**
 * Lists the first 1,000 objects that have the search text `query` in their name, sorted by name. `path` is the path of
 * the list below /api.
 */
async function listObjects(path: string, { http, query }: SystemContext): Promise<SourceOption[]> {
  const response = await http.getJson(`api/${path}`, { query: createOptionsQuery(query, maxOptions) })
  const options = parseOptions(response, path)
  if (!options) throw createResponseProblem('DHIS2', `list under "${path}"`)
  return options
}

/** Returns the headers that authenticate requests. Throws CREDENTIALS_MISSING without credentials. */
function requireHeaders(credentials: Parameters<typeof createAuthHeaders>[0]): Record<string, string> {
  const headers = createAuthHeaders(credentials)
  if (!headers) throw new SourceProblem('CREDENTIALS_MISSING', missingCredentials)
  return headers
}
