import { connectorTypes, loginAccess } from '@sluice/contracts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { formatNameAt } from '../settings/source-address.ts'

export const sormasDefinition = defineConnectedSource({
  type: connectorTypes.sormas,
  connectionField: 'apiSource',
  secretFields: loginAccess.secrets,
  formatSourceName: ({ entities, apiSource }) =>
    formatNameAt(entities.map((entity) => entity.toLowerCase().replaceAll('_', ' ')).join(', '), apiSource.url),
})
