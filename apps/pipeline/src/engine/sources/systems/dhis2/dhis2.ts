import { headersOf, nothingToSignInWith } from '../../../dhis2/requests.ts'
import { SourceProblem } from '../../source.ts'
import type { Asking, SettingsOf, Stream, System } from '../system.ts'
import { analytics } from './analytics.ts'
import { dataValues } from './data-values.ts'
import { events } from './events.ts'
import { metadata, organisationUnits } from './metadata.ts'
import { serverOf } from './server.ts'
import { before } from '../tables/moments.ts'
import { choicesAsked, choicesIn, pluralOf } from '../../../dhis2/choices.ts'
import type { Choice } from '../../reading.ts'
import { strange } from '../http/answers.ts'

const most = 1_000

/** The first thousand by name, of those that have the query in it. */
function choices(kind: string, { http, query }: Asking): Promise<Choice[]> | undefined {
  const plural = pluralOf(kind)
  return plural === undefined ? undefined : named(plural)

  async function named(plural: string): Promise<Choice[]> {
    const found = choicesIn(await http.json(`api/${plural}`, { query: choicesAsked(query, most) }), plural)
    if (!found) throw strange('DHIS2', `a list under "${plural}"`)
    return found
  }
}

export type Settings = SettingsOf<'SOURCE_SYSTEM_C'>

/** What each content is read by. */
const contents: Record<Settings['content'], (asking: Asking<Settings>) => Promise<Stream | Stream[]>> = {
  DATA_VALUES: dataValues,
  ANALYTICS: analytics,
  EVENTS: events,
  ORGANISATION_UNITS: organisationUnits,
  METADATA: metadata,
}

/** DHIS2, from 2.38 on: data values, analytics, events, organisation units and other metadata. */
export const dhis2: System<Settings> = {
  name: 'DHIS2',
  // Analytics are computed anew as a whole.
  increments: ({ content }) => content !== 'ANALYTICS',
  // Servers read moments by their own zone, which is 14 hours away at most.
  cursorAt: (moment) => before(moment, 14 * 3_600).slice(0, 23),
  connect: ({ apiSource: { url, username } }, secrets) => ({
    url,
    without: ['api'],
    headers: demandHeaders({ ...secrets, username }),
  }),
  async test({ http }) {
    await serverOf(http)
  },
  lookup: choices,
  streams: (asking) => contents[asking.settings.content](asking),
}

function demandHeaders(credentials: Parameters<typeof headersOf>[0]): Record<string, string> {
  const headers = headersOf(credentials)
  if (!headers) throw new SourceProblem('CREDENTIALS_MISSING', nothingToSignInWith)
  return headers
}
