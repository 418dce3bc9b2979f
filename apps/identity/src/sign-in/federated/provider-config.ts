import { sql, type Kysely } from 'kysely'
import type { SsoProvider } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import { issuerOf } from './issuer.ts'

/** How a client's users sign in, ready to be used. */
export interface ProviderConfig {
  id: number
  /** Another one with each change. */
  version: number
  uid: string
  /** The client's uid. */
  client: string
  issuer: URL
  clientId: string
  clientSecret: string | undefined
  mappingClaim: string
  redirectUri: string
}

interface Row {
  id: number
  version: number
  uid: string
  client: string
  provider: SsoProvider
  client_id: string | null
  client_secret: string | null
  client_domain: string
  mapping_claim: string
}

type Settings = Pick<Config, 'IDENTITY_PUBLIC_URL' | 'SECRET_KEYS'>

/** Of the client with this code (in any case), or with this uid. Undefined where nobody can sign in: no such client, disabled, without a complete config. */
export async function findProviderConfig(
  db: Kysely<DB>,
  settings: Settings,
  by: { clientCode: string } | { uid: string },
): Promise<ProviderConfig | undefined> {
  const which = 'uid' in by ? sql`p.uid = ${by.uid}` : sql`lower(c.code) = lower(${by.clientCode})`
  const { rows } = await sql<Row>`
    select p.* from sso_provider_configs p join clients c on c.uid = p.client
    where ${which} and not c.disabled and p.client_id is not null`.execute(db)
  return rows[0] && readyToUse(rows[0], settings)
}

export function readyToUse(row: Row, { IDENTITY_PUBLIC_URL, SECRET_KEYS }: Settings): ProviderConfig {
  return {
    id: row.id,
    version: row.version,
    uid: row.uid,
    client: row.client,
    issuer: issuerOf(row.provider, row.client_domain),
    clientId: row.client_id ?? '',
    clientSecret: secretOf(row, SECRET_KEYS),
    mappingClaim: row.mapping_claim,
    redirectUri: `${callbackUrl({ IDENTITY_PUBLIC_URL })}?provider=${row.uid}`,
  }
}

export const callbackUrl = ({ IDENTITY_PUBLIC_URL }: Pick<Settings, 'IDENTITY_PUBLIC_URL'>): string =>
  `${IDENTITY_PUBLIC_URL}/api/v1/auth/sso/callback`

const purposeOf = (uid: string) => `sso_provider_configs.client_secret:${uid}`

export const secretOf = ({ uid, client_secret }: Pick<Row, 'uid' | 'client_secret'>, ring: KeyRing) =>
  client_secret === null ? undefined : ring.open(client_secret, purposeOf(uid))

export const sealedSecret = (uid: string, secret: string, ring: KeyRing): string => ring.seal(secret, purposeOf(uid))
