import { connectorTypes, functionAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { assertCredentialPair, defineConnectedSource } from '../settings/connected-source.ts'
import { hostOf, normalizeAddress, parseAddress } from '../settings/source-address.ts'

/** AWS Lambda, or a function behind an address. */
export const functionDefinition = defineConnectedSource({
  type: connectorTypes.functionCall,
  connectionField: 'functionSource',
  secretFields: functionAccess.secrets,
  assertConnection({ functionSource: { url } }) {
    if (url !== undefined) parseAddress('/functionSource/url', url, { query: true })
  },
  assertSettings({ functionSource: { url, functionName } }) {
    if (url === undefined && functionName === undefined)
      throw new InvalidSetting('/functionSource/url', 'Name the function by its address, or by its name at AWS Lambda.')
  },
  assertSecrets({ functionSource: { functionName } }, secrets) {
    assertCredentialPair(secrets, 'functionSource')
    if (functionName !== undefined && 'authToken' in secrets)
      throw new InvalidSetting(
        '/functionSource/authToken',
        'A token is for an address; AWS Lambda takes an access key.',
      )
    if (functionName === undefined && 'accessKey' in secrets)
      throw new InvalidSetting(
        '/functionSource/accessKey',
        'An access key is for AWS Lambda; an address takes a token.',
      )
  },
  getSecretAudience: ({ functionSource: { url, headerName } }) => [
    url === undefined ? '' : normalizeAddress(url),
    headerName ?? '',
  ],
  formatSourceName({ functionSource: { url, functionName } }) {
    return (functionName ?? hostOf(url!)).slice(0, 255)
  },
})
