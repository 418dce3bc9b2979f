import { pipelineVariants } from '@sluice/contracts'
import type { SourceSecrets } from '../connector.ts'
import {
  type ConnectorDefinition,
  InvalidSetting,
  type KnownType,
  type SentSecrets,
  type SourceFieldsOf,
  type SourceOf,
} from './connector-definition.ts'
import { normalizeAddress, parseAddress } from './source-address.ts'

type ConnectionField =
  | 'apiSource'
  | 'objectStoreSource'
  | 'blobStoreSource'
  | 'functionSource'
  | 'spreadsheetSource'
  | 'jdbcSource'

interface ConnectedSource<Type extends KnownType>
  extends Pick<ConnectorDefinition<Type, SourceOf<Type>>, 'assertLookup' | 'assertSettings' | 'assertSecrets'> {
  type: Type
  /** The name of the field that contains the address and the credentials. */
  connectionField: Extract<keyof SourceOf<Type>, ConnectionField>
  /** The names of the secret fields in `connectionField`. API responses leave them out. */
  secretFields: readonly string[]
  /** Validates the connection. Default: its field `url` must be a valid address. */
  assertConnection?(source: SourceOf<Type>): void
  /**
   * Returns the value that identifies the recipient of the secrets. Default: the address. If it changes, the user must
   * enter the secrets again.
   */
  getSecretAudience?(settings: SourceOf<Type>): unknown
  formatSourceName(settings: SourceOf<Type>): string
}

/**
 * Defines a connector for a source with an address and credentials, which are in the field `connectionField` of the
 * request body. The stored settings are the fields of this type of pipeline without the secrets.
 */
export function defineConnectedSource<Type extends KnownType>(
  source: ConnectedSource<Type>,
): ConnectorDefinition<Type, SourceOf<Type>> {
  const { type, connectionField, secretFields, assertLookup, assertSettings, assertSecrets, formatSourceName } = source
  const { ownFields: fieldsOfType } = pipelineVariants.find((variant) => variant.type === type)!
  const getConnection = (body: SourceOf<Type>) => body[connectionField] as Readonly<Record<string, unknown>>
  const getUrl = (body: SourceOf<Type>) => getConnection(body)['url'] as string
  const {
    assertConnection = (body) => void parseAddress(`/${connectionField}/url`, getUrl(body)),
    getSecretAudience = (settings) => normalizeAddress(getUrl(settings)),
  } = source

  return {
    assertConnection,
    assertSettings(body) {
      assertConnection(body)
      assertSettings?.(body)
    },
    getSettings(body) {
      const fields = Object.fromEntries(fieldsOfType.map((name) => [name, (body as Record<string, unknown>)[name]]))
      // Responses contain `secretStatus` instead of the secrets, and users send responses back.
      const isStored = (name: string) => name !== 'secretStatus' && !secretFields.includes(name)
      const storedConnection = Object.entries(getConnection(body)).filter(([name]) => isStored(name))
      return { ...fields, [connectionField]: Object.fromEntries(storedConnection) } as SourceOf<Type>
    },
    getSecrets(body) {
      const connection = getConnection(body)
      return Object.fromEntries(secretFields.map((name) => [name, connection[name]])) as SentSecrets
    },
    secretFields: { object: connectionField, names: secretFields },
    ...(assertLookup && { assertLookup }),
    ...(assertSecrets && { assertSecrets }),
    secretAudience: { pointer: `/${connectionField}`, getValue: getSecretAudience },
    getResponseFields: (settings) => settings as unknown as SourceFieldsOf<Type>,
    formatSourceName,
  }
}

/**
 * Throws `InvalidSetting` for more than one kind of credential. Allows none, because some sources are public.
 * `credentials` contains the name of each kind for the message, by the name of its secret.
 */
export function assertOneCredential(
  secrets: SourceSecrets,
  field: string,
  credentials: Readonly<Record<string, string>>,
): void {
  const [firstName, secondName] = Object.keys(credentials).filter((name) => name in secrets)
  if (secondName !== undefined)
    throw new InvalidSetting(
      `/${field}/${secondName}`,
      `Send either ${credentials[firstName!]} or ${credentials[secondName]}, and null for the other one.`,
    )
}

/** Throws `InvalidSetting` if the secrets contain an access key without its secret key, or the reverse. */
export function assertCredentialPair(secrets: SourceSecrets, field: string): void {
  const hasAccessKey = 'accessKey' in secrets
  const hasSecretKey = 'secretKey' in secrets
  const missingField = hasAccessKey ? 'secretKey' : 'accessKey'
  if (hasAccessKey !== hasSecretKey)
    throw new InvalidSetting(
      `/${field}/${missingField}`,
      'An access key and its secret key go together: send both, or null for both.',
    )
}

/** Throws `InvalidSetting` for a password without a username. */
export function assertUsername(username: string | undefined, secrets: SourceSecrets, field: string): void {
  if ('password' in secrets && username === undefined)
    throw new InvalidSetting(`/${field}/username`, 'A password requires a username. Send both, or neither.')
}
