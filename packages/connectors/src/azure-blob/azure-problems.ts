import type { TransientError } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import { type StoreErrorResponse, createStatusProblem } from '../object-store/object-store.ts'

/** The address of a container and its credentials. */
export interface AzureConfig {
  account: string
  container: string
  /** The URL of the blob service, with the account in its host name or path. The default is the public Azure cloud. */
  endpoint?: string | undefined
  /** Requests are signed with the account key or contain the SAS token. They are anonymous if both are absent. */
  accountKey?: string | undefined
  sasToken?: string | undefined
}

interface AzureRequest {
  config: AzureConfig
  host: string
  key?: string
  /** True if the request listed the containers of the account. */
  targetsAccount?: boolean
}

/** The code and message of the problem that a user sees for an error response. */
interface AzureExplanation {
  code: string
  formatMessage: (request: AzureRequest) => string
}

function formatSubject({ key, config, targetsAccount }: AzureRequest): string {
  if (targetsAccount) return 'the list of containers'
  return key === undefined ? `container "${config.container}"` : `"${key}"`
}

const credentialsRejected: AzureExplanation = {
  code: 'AUTHENTICATION_FAILED',
  formatMessage: (request) => {
    const { host, config } = request
    if (config.accountKey !== undefined)
      return `${host} rejected the key of account "${config.account}". Check the account and the key. If both are right, ask an operator to correct the clock of the Sluice server.`
    if (config.sasToken !== undefined)
      return `${host} rejected the SAS token. Check that it is complete, has not expired, and is for this account and container.`
    return `Anonymous reads of ${formatSubject(request)} are not allowed. Enter an account key or a SAS token.`
  },
}
/**
 * Azure returns the code AuthorizationFailure when its network rules block a client; the emulator returns it for a
 * wrong key.
 */
const credentialsOrNetworkRejected: AzureExplanation = {
  code: credentialsRejected.code,
  formatMessage: (request) =>
    `${credentialsRejected.formatMessage(request)} Check also that the network rules of the account allow the Sluice server.`,
}
const accessDenied: AzureExplanation = {
  code: 'PERMISSION_DENIED',
  formatMessage: (request) =>
    request.config.sasToken === undefined
      ? `${request.host} does not allow the Sluice server to read ${formatSubject(request)}. Check the key and the network rules of the account.`
      : `The SAS token does not permit reading ${formatSubject(request)}. Create one for containers and objects with the permissions to read and list.`,
}
const containerListDenied: AzureExplanation = {
  code: 'PERMISSION_DENIED',
  formatMessage: ({ host, config }) =>
    config.sasToken !== undefined
      ? 'The SAS token does not permit listing the containers of the account. Enter the name of the container.'
      : `${host} lists containers only with an account key. Enter the name of the container, or an account key.`,
}
const blobMissing: AzureExplanation = {
  code: 'OBJECT_MISSING',
  formatMessage: ({ key, config }) =>
    `Container "${config.container}" has no blob "${key ?? ''}". Check the name of the object.`,
}
const containerMissing: AzureExplanation = {
  code: 'CONTAINER_MISSING',
  formatMessage: ({ config }) =>
    `Account "${config.account}" has no container "${config.container}". Check both names and the endpoint.`,
}
/** The problem for anonymous requests. Azure does not reveal whether a private container exists. */
const anonymousAccessDenied: AzureExplanation = {
  code: 'PERMISSION_DENIED',
  formatMessage: (request) =>
    `${request.host} does not allow anonymous reads of ${formatSubject(request)}, or it does not exist. Check the names, and enter an account key or a SAS token.`,
}

const explanationsByCode: Readonly<Record<string, AzureExplanation>> = {
  AuthenticationFailed: credentialsRejected,
  InvalidAuthenticationInfo: credentialsRejected,
  NoAuthenticationInformation: credentialsRejected,
  AuthorizationFailure: credentialsOrNetworkRejected,
  AuthorizationPermissionMismatch: accessDenied,
  AuthorizationResourceTypeMismatch: accessDenied,
  AuthorizationServiceMismatch: accessDenied,
  AuthorizationProtocolMismatch: accessDenied,
  AuthorizationSourceIPMismatch: accessDenied,
  InsufficientAccountPermissions: accessDenied,
  KeyBasedAuthenticationNotPermitted: accessDenied,
  AccountIsDisabled: accessDenied,
  PublicAccessNotPermitted: anonymousAccessDenied,
  ContainerNotFound: containerMissing,
  ContainerBeingDeleted: containerMissing,
  ContainerDisabled: containerMissing,
  BlobNotFound: blobMissing,
  BlobArchived: {
    code: 'OBJECT_ARCHIVED',
    formatMessage: ({ key }) => `"${key ?? ''}" is in the archive tier. Restore it, then run again.`,
  },
  BlobBeingRehydrated: {
    code: 'OBJECT_ARCHIVED',
    formatMessage: ({ key }) =>
      `"${key ?? ''}" is being restored from the archive tier. Run again when it is available.`,
  },
}

/**
 * Returns the problem for an error response. Its message contains neither the account key nor the SAS token, even if
 * Azure's response repeats them.
 */
export function createAzureProblem(
  response: StoreErrorResponse,
  request: AzureRequest,
): SourceProblem | TransientError {
  const explanation = findExplanation(response, request)
  if (explanation) return new SourceProblem(explanation.code, explanation.formatMessage(request))
  const { config, host } = request
  return createStatusProblem(response, {
    host,
    action: formatSubject(request),
    secrets: [config.accountKey, ...listTokenSecrets(config)],
  })
}

/** Returns the explanation of an error response, or undefined if neither its code nor its status is known. */
function findExplanation(
  { status, code }: StoreErrorResponse,
  { config, key, targetsAccount }: AzureRequest,
): AzureExplanation | undefined {
  const hasAccountKey = config.accountKey !== undefined
  const isAnonymous = !hasAccountKey && config.sasToken === undefined
  // Azure also returns 404 for what the credentials do not permit.
  if (status === 403 || status === 404) {
    if (targetsAccount && !hasAccountKey) return containerListDenied
    if (!targetsAccount && isAnonymous) return anonymousAccessDenied
  }
  if (Object.hasOwn(explanationsByCode, code)) return explanationsByCode[code]
  if (status === 401) return credentialsRejected
  if (status === 403) return accessDenied
  if (status === 404) return key === undefined ? containerMissing : blobMissing
  return undefined
}

/**
 * Returns the texts to redact: the SAS token and its signature, because Azure may repeat only the signature in a
 * message.
 */
function listTokenSecrets({ sasToken }: AzureConfig): string[] {
  if (sasToken === undefined) return []
  const signature = new URLSearchParams(sasToken.replace(/^\?/, '')).get('sig')
  return [sasToken, ...(signature ? [signature, encodeURIComponent(signature)] : [])]
}
