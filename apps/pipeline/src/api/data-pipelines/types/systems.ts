import { anyAccess, loginAccess, tokenAccess, userTokenAccess } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { parseAddress, assertDateOrder, nameAt } from './addresses.ts'
import { assertOneCredential, assertUsername, connected } from './connected.ts'
import type { SourceOf } from './pipeline-type.ts'

/** A system with an HTTP API. */
const api = {
  source: 'apiSource',
  checkConnection: ({ apiSource: { url } }: { apiSource: { url: string } }) => void parseAddress('/apiSource/url', url),
} as const
const login = { ...api, secrets: loginAccess.secrets }
const token = { ...api, secrets: tokenAccess.secrets }

/** BHIMA. */
export const sourceSystemA = connected({
  ...login,
  type: 'SOURCE_SYSTEM_A',
  check: assertDateOrder,
  name: ({ project, apiSource }) => nameAt(`project ${project}`, apiSource.url),
})

/** CommCare. */
export const sourceSystemB = connected({
  ...api,
  type: 'SOURCE_SYSTEM_B',
  secrets: userTokenAccess.secrets,
  check({ forms = [], caseTypes = [] }) {
    if (forms.length + caseTypes.length === 0)
      throw problems.refused('/forms', 'Select what to load: forms, case types, or both.')
  },
  name: ({ domain, apiSource }) => nameAt(domain, apiSource.url),
})

/** DHIS2. */
export const sourceSystemC = connected({
  ...api,
  type: 'SOURCE_SYSTEM_C',
  secrets: anyAccess.secrets,
  check: checkContent,
  checkSecrets({ apiSource }, secrets) {
    assertOneCredential(secrets, 'apiSource', { password: 'a password', authToken: 'a token' })
    assertUsername(apiSource.username, secrets, 'apiSource')
  },
  name: ({ content, apiSource }) => nameAt(content.toLowerCase().replaceAll('_', ' '), apiSource.url),
})

/** iHRIS. */
export const sourceSystemD = connected({
  ...login,
  type: 'SOURCE_SYSTEM_D',
  check({ report, resourceTypes = [] }) {
    if (report === undefined && resourceTypes.length === 0)
      throw problems.refused('/report', 'Select what to load: a report, or resource types.')
    if (report !== undefined && resourceTypes.length > 0)
      throw problems.refused('/resourceTypes', 'Either a report or resource types: leave one of them out.')
  },
  name: ({ report, resourceTypes = [], apiSource }) => nameAt(report ?? resourceTypes.join(', '), apiSource.url),
})

/** KoboToolbox. */
export const sourceSystemE = connected({
  ...token,
  type: 'SOURCE_SYSTEM_E',
  name: ({ survey, apiSource }) => nameAt(survey, apiSource.url),
})

/** Community Health Toolkit. */
export const sourceSystemF = connected({
  ...login,
  type: 'SOURCE_SYSTEM_F',
  check({ forms, contacts = true }) {
    if (forms?.length === 0 && !contacts)
      throw problems.refused('/forms', 'Select what to load: forms, contacts, or both.')
  },
  name: ({ forms, apiSource }) => nameAt(forms?.join(', ') || 'contacts and reports', apiSource.url),
})

/** ODK Central. */
export const sourceSystemG = connected({
  ...login,
  type: 'SOURCE_SYSTEM_G',
  name: ({ form, apiSource }) => nameAt(form, apiSource.url),
})

/** OpenLMIS. */
export const sourceSystemH = connected({
  ...token,
  type: 'SOURCE_SYSTEM_H',
  check: assertDateOrder,
  name: ({ facilities: { length }, apiSource }) =>
    nameAt(length === 1 ? 'one facility' : `${length} facilities`, apiSource.url),
})

/** SORMAS. */
export const sourceSystemI = connected({
  ...login,
  type: 'SOURCE_SYSTEM_I',
  name: ({ entities, apiSource }) =>
    nameAt(entities.map((one) => one.toLowerCase().replaceAll('_', ' ')).join(', '), apiSource.url),
})

/** Validates the fields that each content of DHIS2 requires. */
function checkContent(body: SourceOf<'SOURCE_SYSTEM_C'>): void {
  const { content, dataSets = [], dataElements = [], programs = [], metadata = [], periods = [] } = body
  const { startDate, endDate } = body
  assertDateOrder(body)
  const refuse = (pointer: string, detail: string) => problems.refused(pointer, detail)
  if (periods.length > 0 && (startDate ?? endDate) !== undefined)
    throw refuse('/periods', 'Either periods or days: leave one of them out.')
  if (content === 'DATA_VALUES' && dataSets.length + dataElements.length === 0)
    throw refuse('/dataSets', 'Select what to load: data sets, or data elements.')
  if (content === 'ANALYTICS' && dataElements.length === 0)
    throw refuse('/dataElements', 'Select what to load: data elements, indicators, or whatever else dx takes.')
  if (content === 'EVENTS' && programs.length === 0)
    throw refuse('/programs', 'Select what to load: one program or more.')
  if (content === 'METADATA' && metadata.length === 0)
    throw refuse('/metadata', 'Select what to load: one kind of metadata or more.')
  const needsTime = content === 'DATA_VALUES' || content === 'ANALYTICS'
  if (needsTime && periods.length === 0 && (startDate === undefined || endDate === undefined))
    throw refuse('/periods', 'Select the period: periods, or a first and a last day.')
}
