import { connectorTypes, loginAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { formatNameAt } from '../settings/source-address.ts'

export const communityHealthToolkitDefinition = defineConnectedSource({
  type: connectorTypes.communityHealthToolkit,
  connectionField: 'apiSource',
  secretFields: loginAccess.secrets,
  assertSettings({ forms, contacts = true }) {
    if (forms?.length === 0 && !contacts)
      throw new InvalidSetting('/forms', 'Select what to load: forms, contacts, or both.')
  },
  formatSourceName: ({ forms, apiSource }) => formatNameAt(forms?.join(', ') || 'contacts and reports', apiSource.url),
})
