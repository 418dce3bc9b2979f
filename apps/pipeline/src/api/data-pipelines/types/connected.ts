import { pipelineVariants } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import type { SourceSecrets } from '@sluice/connectors/connector'
import { normalizeAddress } from './addresses.ts'
import type { GivenSecrets, KnownType, PipelineKind, ResourceOf, SourceOf } from './pipeline-type.ts'

/** The field of a body with the address of its source. */
type SourceFieldName =
  | 'apiSource'
  | 'objectStoreSource'
  | 'blobStoreSource'
  | 'functionSource'
  | 'spreadsheetSource'
  | 'jdbcSource'

type SourceField<Type extends KnownType> = Extract<keyof SourceOf<Type>, SourceFieldName>

/** The stored fields of the body, without secrets. */
export type SettingsOf<Type extends KnownType> = SourceOf<Type>

interface ConnectedSource<Type extends KnownType> {
  type: Type
  /** The field with the address and the credentials. */
  source: SourceField<Type>
  /** The secret fields of it, which responses leave out. */
  secrets: readonly string[]
  /** Throws 422 for an invalid address. */
  checkConnection(source: SourceOf<Type>): void
  /** Throws 422 for an invalid selection of what to load. */
  check?(source: SourceOf<Type>): void
  checkSecrets?(settings: SettingsOf<Type>, secrets: SourceSecrets): void
  /** What the secrets are given for. They are never sent to anything else. The address by default. */
  meantFor?(settings: SettingsOf<Type>): unknown
  name(settings: SettingsOf<Type>): string
}

/** The common part of the types that connect to a system. */
export function connected<Type extends KnownType>(kind: ConnectedSource<Type>): PipelineKind<Type, SettingsOf<Type>> {
  const { type, source: field, secrets, checkConnection, check, checkSecrets, name } = kind
  const { own } = pipelineVariants.find((variant) => variant.type === type)!
  const objectOf = (body: SourceOf<Type>) => body[field] as Readonly<Record<string, unknown>>
  const meantFor = kind.meantFor ?? ((settings) => normalizeAddress(objectOf(settings)['url'] as string))

  return {
    checkConnection,
    check(body) {
      checkConnection(body)
      check?.(body)
    },
    settings(body) {
      const kept = Object.fromEntries(own.map((one) => [one, (body as Record<string, unknown>)[one]]))
      const open = Object.entries(objectOf(body)).filter(([one]) => !secrets.includes(one))
      return { ...kept, [field]: Object.fromEntries(open) } as SettingsOf<Type>
    },
    secrets: (body) => Object.fromEntries(secrets.map((one) => [one, objectOf(body)[one]])) as GivenSecrets,
    ...(checkSecrets && { checkSecrets }),
    meantFor: { pointer: `/${field}`, of: meantFor },
    fields: (settings) => settings as unknown as Omit<ResourceOf<Type>, keyof ResourceOf<'PARQUET_UPLOAD'>>,
    sourceName: name,
  }
}

/** Throws 422 for more than one way to sign in. Accepts none, because some sources are public. */
export function assertOneCredential(
  secrets: SourceSecrets,
  field: string,
  ways: Readonly<Record<string, string>>,
): void {
  const given = Object.keys(ways).filter((name) => name in secrets)
  if (given.length > 1)
    throw problems.refused(
      `/${field}/${given[1]}`,
      `Either ${ways[given[0]!]} or ${ways[given[1]!]}: send null for the one that is not meant.`,
    )
}

/** Throws 422 for one half of a pair of keys. */
export function assertCredentialPair(secrets: SourceSecrets, field: string): void {
  const [key, secret] = ['accessKey' in secrets, 'secretKey' in secrets]
  if (key !== secret)
    throw problems.refused(
      `/${field}/${key ? 'secretKey' : 'accessKey'}`,
      'An access key and its secret key go together: send both, or null for both.',
    )
}

/** Throws 422 for a password without a username. */
export function assertUsername(username: string | undefined, secrets: SourceSecrets, field: string): void {
  if ('password' in secrets && username === undefined)
    throw problems.refused(`/${field}/username`, 'The password needs a username.')
}
