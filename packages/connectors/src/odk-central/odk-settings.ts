import { connectorTypes, loginAccess } from '@sluice/contracts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { formatNameAt } from '../settings/source-address.ts'

export const odkCentralDefinition = defineConnectedSource({
  type: connectorTypes.odkCentral,
  connectionField: 'apiSource',
  secretFields: loginAccess.secrets,
  formatSourceName: ({ form, apiSource }) => formatNameAt(form, apiSource.url),
})
