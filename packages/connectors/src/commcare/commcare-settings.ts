import { connectorTypes, userTokenAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { defineConnectedSource } from '../settings/define-connected-source.ts'
import { formatNameAt } from '../settings/source-address.ts'

export const commcareDefinition = defineConnectedSource({
  type: connectorTypes.commcare,
  connectionField: 'apiSource',
  secretFields: userTokenAccess.secrets,
  assertSettings({ forms = [], caseTypes = [] }) {
    if (forms.length + caseTypes.length === 0)
      throw new InvalidSetting('/forms', 'Select what to load: forms, case types, or both.')
  },
  formatSourceName: ({ domain, apiSource }) => formatNameAt(domain, apiSource.url),
})
