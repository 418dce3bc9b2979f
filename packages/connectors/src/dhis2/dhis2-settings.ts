import { connectorTypes, anyAccess } from '@sluice/contracts'
import { InvalidSetting, type SourceOf } from '../settings/connector-definition.ts'
import { assertOneCredential, assertUsername, defineConnectedSource } from '../settings/define-connected-source.ts'
import { assertDateOrder, formatNameAt } from '../settings/source-address.ts'

export const dhis2Definition = defineConnectedSource({
  type: connectorTypes.dhis2,
  connectionField: 'apiSource',
  secretFields: anyAccess.secrets,
  assertSettings: assertContentFields,
  assertSecrets({ apiSource }, secrets) {
    assertOneCredential(secrets, 'apiSource', { password: 'a password', authToken: 'a token' })
    assertUsername(apiSource.username, secrets, 'apiSource')
  },
  formatSourceName: ({ content, apiSource }) => formatNameAt(content.toLowerCase().replaceAll('_', ' '), apiSource.url),
})

/**
 * Throws `InvalidSetting` if a field that the selected kind of content requires is missing, or if the time range is
 * invalid.
 */
function assertContentFields(body: SourceOf<typeof connectorTypes.dhis2>): void {
  const { content, dataSets = [], dataElements = [], programs = [], metadata = [], periods = [] } = body
  const { startDate, endDate } = body
  assertDateOrder(body)
  if (periods.length > 0 && (startDate ?? endDate) !== undefined)
    throw new InvalidSetting('/periods', 'Send either periods, or startDate and endDate, not both.')
  if (content === 'DATA_VALUES' && dataSets.length + dataElements.length === 0)
    throw new InvalidSetting('/dataSets', 'Select what to load: data sets, or data elements.')
  if (content === 'ANALYTICS' && dataElements.length === 0)
    throw new InvalidSetting('/dataElements', 'Select what to load: data elements, indicators, or other items of dx.')
  if (content === 'EVENTS' && programs.length === 0)
    throw new InvalidSetting('/programs', 'Select what to load: one program or more.')
  if (content === 'METADATA' && metadata.length === 0)
    throw new InvalidSetting('/metadata', 'Select what to load: one kind of metadata or more.')
  const needsTimeRange = content === 'DATA_VALUES' || content === 'ANALYTICS'
  if (needsTimeRange && periods.length === 0 && (startDate === undefined || endDate === undefined))
    throw new InvalidSetting('/periods', 'Select a time range: enter periods, or both startDate and endDate.')
}
