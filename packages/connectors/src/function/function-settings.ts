import { connectorTypes, functionAccess } from '@sluice/contracts'
import { InvalidSetting } from '../settings/connector-definition.ts'
import { assertCredentialPair, defineConnectedSource } from '../settings/define-connected-source.ts'
import { getHost, normalizeAddress, parseAddress } from '../settings/source-address.ts'
import { assertRestApi, assertRestSecrets } from './rest-api/rest-settings.ts'

/** A function of AWS Lambda, a function at an HTTP address, or a REST API. */
export const functionDefinition = defineConnectedSource({
  type: connectorTypes.functionCall,
  connectionField: 'functionSource',
  secretFields: functionAccess.secrets,
  assertConnection(body) {
    const { url } = body.functionSource
    if (url !== undefined) parseAddress('/functionSource/url', url, { mayHaveQuery: true })
    assertRestApi(body)
  },
  assertSettings({ functionSource: { url, functionName } }) {
    if (url === undefined && functionName === undefined)
      throw new InvalidSetting('/functionSource/url', 'Enter the address of the function, or its name in AWS Lambda.')
  },
  assertSecrets(settings, secrets) {
    const { functionName } = settings.functionSource
    assertRestSecrets(settings, secrets)
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
  getSecretAudience: ({ functionSource: { url, headerName, parameterName, username } }) => [
    url === undefined ? '' : normalizeAddress(url),
    headerName ?? '',
    // Absent in addresses that earlier versions stored.
    ...(parameterName === undefined ? [] : [`parameter ${parameterName}`]),
    ...(username === undefined ? [] : [`username ${username}`]),
  ],
  formatSourceName({ functionSource: { url, functionName } }) {
    return (functionName ?? getHost(url!)).slice(0, 255)
  },
})
