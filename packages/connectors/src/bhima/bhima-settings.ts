import { loginAccess } from '@sluice/contracts'
import { defineConnectedSource } from '../settings/connected-source.ts'
import { assertDateOrder, formatNameAt } from '../settings/source-address.ts'

export const bhimaDefinition = defineConnectedSource({
  type: 'SOURCE_SYSTEM_A',
  connectionField: 'apiSource',
  secretFields: loginAccess.secrets,
  assertSettings: assertDateOrder,
  formatSourceName: ({ project, apiSource }) => formatNameAt(`project ${project}`, apiSource.url),
})
