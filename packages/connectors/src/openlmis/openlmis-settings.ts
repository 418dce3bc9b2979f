import { connectorTypes, tokenAccess } from '@sluice/contracts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { assertDateOrder, formatNameAt } from '../settings/source-address.ts'

export const openlmisDefinition = defineConnectedSource({
  type: connectorTypes.openlmis,
  connectionField: 'apiSource',
  secretFields: tokenAccess.secrets,
  assertSettings: assertDateOrder,
  formatSourceName: ({ facilities: { length }, apiSource }) =>
    formatNameAt(length === 1 ? 'one facility' : `${length} facilities`, apiSource.url),
})
