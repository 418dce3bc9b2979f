import { headersOf, nothingToSignInWith } from './requests.ts'
import { SourceProblem } from '@sluice/row-stream'
import type { SystemContext, SettingsOf, RecordStream, HttpSystem } from '../http-connector/http-system.ts'
import { analytics } from './analytics.ts'
import { dataValues } from './data-values.ts'
import { events } from './events.ts'
import { metadata, organisationUnits } from './metadata.ts'
import { readServer } from './server.ts'
import { subtractSeconds } from '../http-connector/paging.ts'
import { choicesAsked, choicesIn, pluralOf } from './choices.ts'
import type { SourceChoice } from '../connector.ts'
import { createResponseProblem } from '../http-connector/parse-response.ts'

const maxChoices = 1_000

/** Lists the first thousand objects by name whose name contains the query. */
function listChoices(kind: string, { http, query }: SystemContext): Promise<SourceChoice[]> | undefined {
  const plural = pluralOf(kind)
  return plural === undefined ? undefined : named(plural)

  async function named(plural: string): Promise<SourceChoice[]> {
    const found = choicesIn(await http.getJson(`api/${plural}`, { query: choicesAsked(query, maxChoices) }), plural)
    if (!found) throw createResponseProblem('DHIS2', `a list under "${plural}"`)
    return found
  }
}

export type Dhis2Settings = SettingsOf<'SOURCE_SYSTEM_C'>

const contents: Record<
  Dhis2Settings['content'],
  (asking: SystemContext<Dhis2Settings>) => Promise<RecordStream | RecordStream[]>
> = {
  DATA_VALUES: dataValues,
  ANALYTICS: analytics,
  EVENTS: events,
  ORGANISATION_UNITS: organisationUnits,
  METADATA: metadata,
}

/** DHIS2, from 2.38 on: data values, analytics, events, organisation units and other metadata. */
export const dhis2: HttpSystem<Dhis2Settings> = {
  name: 'DHIS2',
  // Analytics tables are recomputed completely.
  increments: ({ content }) => content !== 'ANALYTICS',
  // Servers interpret timestamps in their own time zone, which is at most 14 hours away.
  cursorAt: (moment) => subtractSeconds(moment, 14 * 3_600).slice(0, 23),
  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    ignoredSegments: ['api'],
    headers: requireHeaders({ ...secrets, username }),
  }),
  async test({ http }) {
    await readServer(http)
  },
  lookup: listChoices,
  streams: (asking) => contents[asking.settings.content](asking),
}

function requireHeaders(credentials: Parameters<typeof headersOf>[0]): Record<string, string> {
  const headers = headersOf(credentials)
  if (!headers) throw new SourceProblem('CREDENTIALS_MISSING', nothingToSignInWith)
  return headers
}
