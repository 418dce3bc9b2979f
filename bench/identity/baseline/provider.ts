import express from 'express'
import { exportJWK, generateKeyPair } from 'jose'
import { Provider, type Adapter, type AdapterPayload } from 'oidc-provider'
import pg from 'pg'

/** oidc-provider without Sluice: one client in memory, tokens in one table, ES256 signatures. */

const { DATABASE_URL: connectionString, PORT: port } = process.env
const pool = new pg.Pool({ connectionString, max: 10 })
await pool.query(
  'create table if not exists payloads (id text primary key, payload jsonb not null, grant_id text, expires_at timestamptz)',
)
await pool.query('create index if not exists payloads_grant on payloads (grant_id)')

/** The minimal oidc-provider adapter. */
class Payloads implements Adapter {
  #kind: string

  constructor(kind: string) {
    this.#kind = kind
  }

  #id = (id: string) => `${this.#kind}:${id}`

  async upsert(id: string, payload: AdapterPayload, expiresIn: number) {
    await pool.query(
      `insert into payloads values ($1, $2, $3, now() + make_interval(secs => $4))
       on conflict (id) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
      [this.#id(id), payload, payload.grantId, expiresIn],
    )
  }

  async find(id: string) {
    const { rows } = await pool.query<{ payload: AdapterPayload }>('select payload from payloads where id = $1', [
      this.#id(id),
    ])
    return rows[0]?.payload
  }

  async findByUid() {
    return undefined
  }

  async findByUserCode() {
    return undefined
  }

  async consume(id: string) {
    const now = Math.floor(Date.now() / 1000)
    await pool.query(`update payloads set payload = payload || jsonb_build_object('consumed', $2::int) where id = $1`, [
      this.#id(id),
      now,
    ])
  }

  async destroy(id: string) {
    await pool.query('delete from payloads where id = $1', [this.#id(id)])
  }

  async revokeByGrantId(grant: string) {
    await pool.query('delete from payloads where grant_id = $1', [grant])
  }
}

const { privateKey } = await generateKeyPair('ES256', { extractable: true })
const provider = new Provider(`http://127.0.0.1:${port}`, {
  adapter: Payloads,
  jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig' }] },
  clients: [
    {
      client_id: 'bench',
      client_secret: 'bench',
      grant_types: ['client_credentials', 'refresh_token', 'authorization_code'],
      redirect_uris: ['https://bench.example.org/back'],
      id_token_signed_response_alg: 'ES256',
    },
  ],
  rotateRefreshToken: true,
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:bench',
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'api',
        audience: 'urn:bench',
        accessTokenFormat: 'jwt',
        accessTokenTTL: 300,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
})

/** Creates a refresh token without a sign-in in a browser. */
async function refreshToken(accountId: string): Promise<string> {
  const client = await provider.Client.find('bench')
  if (!client) throw new Error('the client is not there')
  const grant = new provider.Grant({ accountId, clientId: 'bench' })
  grant.addOIDCScope('openid offline_access')
  grant.addResourceScope('urn:bench', 'api')
  const token = new provider.RefreshToken({
    accountId,
    client,
    grantId: await grant.save(),
    gty: 'authorization_code',
    scope: 'openid offline_access api',
    resource: 'urn:bench',
    rotations: 0,
    iiat: Math.floor(Date.now() / 1000),
  } as never)
  return token.save()
}

const app = express()
app.post('/seed/:count', async (request, response) => {
  const people = Array.from({ length: Number(request.params.count) }, (_, index) => `person-${index}`)
  response.json(await Promise.all(people.map(refreshToken)))
})
app.use(provider.callback())
app.listen(Number(port), '127.0.0.1')
