import { connectorTypes, functionAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { assertCredentialPair, defineConnectedSource } from '../settings/connected-source.ts'
import { getHost, normalizeAddress, parseAddress } from '../settings/source-address.ts'

/** A function of AWS Lambda, or a function at an HTTP address. */
export const functionDefinition = defineConnectedSource({
  type: connectorTypes.functionCall,
  connectionField: 'functionSource',
  secretFields: functionAccess.secrets,
  assertConnection({ functionSource: { url } }) {
    if (url !== undefined) parseAddress('/functionSource/url', url, { query: true })
  },
  assertSettings({ functionSource: { url, functionName } }) {
    if (url === undefined && functionName === undefined)
      throw new InvalidSetting('/functionSource/url', 'Enter the address of the function, or its name in AWS Lambda.')
  },
  assertSecrets({ functionSource: { functionName } }, secrets) {
    assertCredentialPair(secrets, 'functionSource')
    if (functionName !== undefined && 'authToken' in secrets)
      throw new InvalidSetting(
        '/functionSource/authToken',
        'AWS Lambda does not accept a token. Enter an access key instead.',
      )
    if (functionName === undefined && 'accessKey' in secrets)
      throw new InvalidSetting(
        '/functionSource/accessKey',
        'Only AWS Lambda accepts an access key. For a function that is called by its URL, enter a token.',
      )
  },
  getSecretAudience: ({ functionSource: { url, headerName } }) => [
    url === undefined ? '' : normalizeAddress(url),
    headerName ?? '',
  ],
  formatSourceName({ functionSource: { url, functionName } }) {
    return (functionName ?? getHost(url!)).slice(0, 255)
  },
})
