import { pipelineVariants } from '@sluice/contracts'
import type { SourceSecrets } from '../../../sealed-secrets.ts'
import { sameAddress } from './addresses.ts'
import type { GivenSecrets, KnownType, PipelineKind, ResourceOf, SourceOf } from './pipeline-type.ts'
import { problems } from '@sluice/http'

/** The object of a body in which it says where its source is. */
type SourceFieldName =
  | 'apiSource'
  | 'objectStoreSource'
  | 'blobStoreSource'
  | 'functionSource'
  | 'spreadsheetSource'
  | 'jdbcSource'

type SourceField<Type extends KnownType> = Extract<keyof SourceOf<Type>, SourceFieldName>

/** What is stored of it: the body's fields, without secrets. */
export type SettingsOf<Type extends KnownType> = SourceOf<Type>

interface ConnectedSource<Type extends KnownType> {
  type: Type
  /** The field that says where the source is and who asks. */
  source: SourceField<Type>
  /** Those fields of it that are never answered. */
  secrets: readonly string[]
  /** Refuses an address. */
  checkConnection(source: SourceOf<Type>): void
  /** Refuses, besides, what is to be loaded. */
  check?(source: SourceOf<Type>): void
  checkSecrets?(settings: SettingsOf<Type>, secrets: SourceSecrets): void
  /** What secrets are meant for: given for one thing, they are not sent to another. The address when absent. */
  meantFor?(settings: SettingsOf<Type>): unknown
  name(settings: SettingsOf<Type>): string
}

/** A pipeline that reads from a system that is asked at an address: what all of them have in common. */
export function connected<Type extends KnownType>(kind: ConnectedSource<Type>): PipelineKind<Type, SettingsOf<Type>> {
  const { type, source: field, secrets, checkConnection, check, checkSecrets, name } = kind
  const { own } = pipelineVariants.find((variant) => variant.type === type)!
  const objectOf = (body: SourceOf<Type>) => body[field] as Readonly<Record<string, unknown>>
  const meantFor = kind.meantFor ?? ((settings) => sameAddress(objectOf(settings)['url'] as string))

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

/** Refuses all but one of several ways to say who asks. None is one as well: some sources let anybody in. */
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

/** Refuses one half of a pair of keys. */
export function assertCredentialPair(secrets: SourceSecrets, field: string): void {
  const [key, secret] = ['accessKey' in secrets, 'secretKey' in secrets]
  if (key !== secret)
    throw problems.refused(
      `/${field}/${key ? 'secretKey' : 'accessKey'}`,
      'An access key and its secret key go together: send both, or null for both.',
    )
}

/** Refuses a password of nobody. */
export function assertUsername(username: string | undefined, secrets: SourceSecrets, field: string): void {
  if ('password' in secrets && username === undefined)
    throw problems.refused(`/${field}/username`, 'Say whose password that is.')
}
