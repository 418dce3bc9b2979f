import type { TransientError } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import { type StoreErrorResponse, unexplained } from '../object-store/object-store.ts'

/** A container and its credentials. */
export interface AzureConfig {
  account: string
  container: string
  /** The URL of the blob service, with the account in its host name or path. The default is the public Azure cloud. */
  endpoint?: string | undefined
  /** Requests are signed with the account key or carry the SAS token. They are anonymous if both are absent. */
  accountKey?: string | undefined
  sasToken?: string | undefined
}

interface AzureRequest {
  config: AzureConfig
  host: string
  key?: string
}

type AzureExplanation = [code: string, sentence: (scene: AzureRequest) => string]

const named = ({ key, config }: AzureRequest): string =>
  key === undefined ? `container "${config.container}"` : `"${key}"`

const noLogin: AzureExplanation = [
  'AUTHENTICATION_FAILED',
  (scene) => {
    const { host, config } = scene
    if (config.accountKey !== undefined)
      return `${host} rejected the key of account "${config.account}". Check the account and the key. If both are right, ask an operator to correct the clock of this server.`
    if (config.sasToken !== undefined)
      return `${host} rejected the SAS token. Check that it is complete, has not expired, and is for this account and container.`
    return `Anonymous reads of ${named(scene)} are not allowed. Enter an account key or a SAS token.`
  },
]
/** Azure returns the code AuthorizationFailure when its network rules block a client; the emulator returns it for a wrong key. */
const noLoginOrNetwork: AzureExplanation = [
  noLogin[0],
  (scene) => `${noLogin[1](scene)} Check also that the network rules of the account allow this server.`,
]
const forbidden: AzureExplanation = [
  'PERMISSION_DENIED',
  (scene) =>
    scene.config.sasToken === undefined
      ? `${scene.host} does not allow this server to read ${named(scene)}. Check the key and the network rules of the account.`
      : `The SAS token does not permit reading ${named(scene)}. Create one for containers and objects with the permissions to read and list.`,
]
const noBlob: AzureExplanation = [
  'OBJECT_MISSING',
  ({ key, config }) => `Container "${config.container}" has no blob "${key ?? ''}". Check the name of the object.`,
]
const noContainer: AzureExplanation = [
  'CONTAINER_MISSING',
  ({ config }) =>
    `Account "${config.account}" has no container "${config.container}". Check both names and the endpoint.`,
]
/** The problem for anonymous requests. Azure does not tell whether a private container exists. */
const hidden: AzureExplanation = [
  'PERMISSION_DENIED',
  (scene) =>
    `${scene.host} does not allow anonymous reads of ${named(scene)}, or it does not exist. Check the names, and enter an account key or a SAS token.`,
]

const known: Readonly<Record<string, AzureExplanation>> = {
  AuthenticationFailed: noLogin,
  InvalidAuthenticationInfo: noLogin,
  NoAuthenticationInformation: noLogin,
  AuthorizationFailure: noLoginOrNetwork,
  AuthorizationPermissionMismatch: forbidden,
  AuthorizationResourceTypeMismatch: forbidden,
  AuthorizationServiceMismatch: forbidden,
  AuthorizationProtocolMismatch: forbidden,
  AuthorizationSourceIPMismatch: forbidden,
  InsufficientAccountPermissions: forbidden,
  KeyBasedAuthenticationNotPermitted: forbidden,
  AccountIsDisabled: forbidden,
  PublicAccessNotPermitted: hidden,
  ContainerNotFound: noContainer,
  ContainerBeingDeleted: noContainer,
  ContainerDisabled: noContainer,
  BlobNotFound: noBlob,
  BlobArchived: ['OBJECT_ARCHIVED', ({ key }) => `"${key ?? ''}" is in the archive tier. Move it to the hot or cool tier, then run again.`],
  BlobBeingRehydrated: [
    'OBJECT_ARCHIVED',
    ({ key }) => `"${key ?? ''}" is being restored from the archive tier. Run again when it is available.`,
  ],
}

/** Returns the problem for an error response. Its message contains neither the key nor the token, even if Azure repeats them. */
export function azureProblem(refusal: StoreErrorResponse, scene: AzureRequest): SourceProblem | TransientError {
  const { status, code } = refusal
  const { config, host, key } = scene
  const isAnonymous = config.accountKey === undefined && config.sasToken === undefined
  if (isAnonymous && (status === 404 || status === 403)) return new SourceProblem(hidden[0], hidden[1](scene))
  const missing = status === 404 ? (key === undefined ? noContainer : noBlob) : undefined
  const explained =
    (Object.hasOwn(known, code) ? known[code] : undefined) ??
    missing ??
    (status === 401 ? noLogin : undefined) ??
    (status === 403 ? forbidden : undefined)
  if (!explained)
    return unexplained(refusal, { host, what: named(scene), secrets: [config.accountKey, ...secretsOf(config)] })
  return new SourceProblem(explained[0], explained[1](scene))
}

/** Returns the SAS token and its signature, because Azure may repeat the signature alone in a message. */
function secretsOf({ sasToken }: AzureConfig): string[] {
  if (sasToken === undefined) return []
  const signature = new URLSearchParams(sasToken.replace(/^\?/, '')).get('sig')
  return [sasToken, ...(signature ? [signature, encodeURIComponent(signature)] : [])]
}
