import { connectorTypes, tokenAccess } from '@sluice/contracts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { formatNameAt } from '../settings/source-address.ts'

export const kobotoolboxDefinition = defineConnectedSource({
  type: connectorTypes.kobotoolbox,
  connectionField: 'apiSource',
  secretFields: tokenAccess.secrets,
  formatSourceName: ({ survey, apiSource }) => formatNameAt(survey, apiSource.url),
})
