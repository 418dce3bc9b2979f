import { connectorTypes, loginAccess } from '@sluice/contracts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { assertDateOrder, formatNameAt } from '../settings/source-address.ts'

export const bhimaDefinition = defineConnectedSource({
  type: connectorTypes.bhima,
  connectionField: 'apiSource',
  secretFields: loginAccess.secrets,
  assertSettings: assertDateOrder,
  formatSourceName: ({ project, apiSource }) => formatNameAt(`project ${project}`, apiSource.url),
})
