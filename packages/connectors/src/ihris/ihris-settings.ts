import { connectorTypes, loginAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { formatNameAt } from '../settings/source-address.ts'

export const ihrisDefinition = defineConnectedSource({
  type: connectorTypes.ihris,
  connectionField: 'apiSource',
  secretFields: loginAccess.secrets,
  assertSettings({ report, resourceTypes = [] }) {
    if (report === undefined && resourceTypes.length === 0)
      throw new InvalidSetting('/report', 'Select what to load: a report, or resource types.')
    if (report !== undefined && resourceTypes.length > 0)
      throw new InvalidSetting('/resourceTypes', 'Send either a report or resource types, not both.')
  },
  formatSourceName: ({ report, resourceTypes = [], apiSource }) =>
    formatNameAt(report ?? resourceTypes.join(', '), apiSource.url),
})
