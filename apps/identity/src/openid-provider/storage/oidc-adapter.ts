import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Adapter, type AdapterPayload, Provider, errors } from 'oidc-provider'
import { prepared } from '@sluice/database'
import { startPollingLoop, type Logger } from '@sluice/process'
import { removeInBatches } from '../../process-rows-in-batches.ts'
import type { DB } from '../../database.ts'
import { isOpenSession } from '../../sign-in/sessions/sessions.ts'
import { isUid } from '../../is-uid.ts'
import { type BuiltInSettings, findBuiltInClient } from './built-in-applications.ts'
import { findApplication } from './clients.ts'
import { coalesceQueries } from './coalesce-queries.ts'
import { hashSecret } from '../../stored-secrets.ts'
import { createUserCodes, openDeviceCode, sealDeviceCode } from './user-codes.ts'

/** For this many seconds, a second use of a refresh token counts as a retry after a lost response. */
const reuseGraceSeconds = 10
/** The lifetime in seconds for models that oidc-provider stores without one. */
const maxLifetimeSeconds = 366 * 24 * 3600

/**
 * SQL condition: the row of `oidc_models` (a token, code, grant or session of oidc-provider) is not expired, and
 * belongs to no sign-in session or to an open one. Expired device codes match too, because oidc-provider reports them
 * with an error of its own.
 */
const isLiveModel = sql`(oidc_models.expires_at > now() or oidc_models.model = 'DeviceCode') and (
  oidc_models.session_id is null or (
    ${isOpenSession} and users.status = 'ACTIVE' and oidc_models.created_at >= users.token_valid_after
    and not exists (select from clients where clients.uid in (sessions.client, users.client) and clients.disabled)))`

/**
 * Returns the storage adapter of oidc-provider. The library creates one adapter for each kind of model, such as Grant.
 */
export const createOidcAdapter = (db: Kysely<DB>, settings: BuiltInSettings & { SERVICE_SECRET: string }) => {
  const userCodes = createUserCodes(db, settings.SERVICE_SECRET)

  return (model: string): Adapter => {
    const registered = coalesceQueries((id) => findApplication(db, id))
    const application = async (id: string) =>
      (findBuiltInClient(id, settings) as AdapterPayload | undefined) ?? registered(id)
    const modelWithId = (id: string) => sql`model = ${model} and id_hash = ${hashSecret(id)}`

    // A second use of a refresh token within the grace period is not a replay. All other models can be used only once.
    const graceSeconds = model === 'RefreshToken' ? reuseGraceSeconds : -1
    async function find(
      by: 'id' | 'session',
      condition: RawBuilder<unknown>,
      id: string,
    ): Promise<AdapterPayload | undefined> {
      const { rows } = await sql<{ payload: AdapterPayload; used: boolean }>`
      ${prepared(`find-oidc-model-by-${by}`)}
      select oidc_models.payload,
        coalesce(oidc_models.consumed_at < now() - make_interval(secs => ${graceSeconds}), false) as used
      from oidc_models
      left join sessions on sessions.id = oidc_models.session_id
      left join users on users.id = sessions.user_id
      where oidc_models.model = ${model} and ${condition} and ${isLiveModel}
      order by oidc_models.created_at desc limit 1`.execute(db)
      const row = rows[0]
      if (row?.used) recordReplayedTokenUser(row.payload.accountId)
      return row && { ...restorePayload(model, id, row.payload), ...(row.used && { consumed: true }) }
    }

    return {
      /**
       * A device code is bound to a session or refused only once, by the first browser that does so. Binding it also
       * resets its creation time: the user may have changed the password since the device requested the code, and older
       * models are then invalid.
       */
      async upsert(id, payload, expiresIn = maxLifetimeSeconds) {
        const session = findSignInSession(model, payload)
        const { rows } = await sql`
        ${prepared('keep-oidc-model')}
        insert into oidc_models
          (model, id_hash, payload, grant_id, session_id, sso_client_config_id, expires_at)
        select ${model}, ${hashSecret(id)}, ${serializePayload(model, id, payload)}, ${payload.grantId ?? null},
          sessions.id, applications.id, now() + make_interval(secs => ${expiresIn})
        from (select ${session ?? null}::uuid as session, ${payload.clientId ?? null}::text as application) as owner
        left join sessions on sessions.uid = owner.session and sessions.ended_at is null
        left join sso_client_configs applications on applications.sso_client_id = owner.application
        where (owner.session is null or sessions.id is not null)
          and (owner.application is null or applications.id is not null)
        on conflict (model, id_hash) do update set payload = excluded.payload, grant_id = excluded.grant_id,
          session_id = excluded.session_id, expires_at = excluded.expires_at,
          created_at = case when oidc_models.session_id is null then now() else oidc_models.created_at end
        where oidc_models.model <> 'DeviceCode'
          or (oidc_models.session_id is null and oidc_models.payload->>'error' is null)
        returning 1`.execute(db)
        if (rows.length === 0) throw new errors.InvalidGrant('the session has ended or the client was deleted')
        if (model === 'DeviceCode' && payload.userCode !== undefined)
          await userCodes.add(payload.userCode, id, expiresIn)
      },

      find: (id) =>
        model === 'Client' ? application(id) : find('id', sql`oidc_models.id_hash = ${hashSecret(id)}`, id),

      /**
       * Finds a session of oidc-provider by the uid of its sign-in session. The result lacks the session's own id,
       * which only the browser has.
       */
      findByUid: async (uid) => (isUid(uid) ? find('session', sql`sessions.uid = ${uid}`, '') : undefined),

      async findByUserCode(userCode) {
        const id = await userCodes.findDeviceCode(userCode)
        const payload =
          id === undefined ? undefined : await find('id', sql`oidc_models.id_hash = ${hashSecret(id)}`, id)
        return payload && { ...payload, userCode }
      },

      /**
       * Marks a code or token as used. The condition of the update ensures that only one of several concurrent uses
       * succeeds.
       */
      async consume(id) {
        const { rows } = await sql`
        ${prepared('consume-oidc-model')}
        with consumed_model as (
          update oidc_models set consumed_at = now() where ${modelWithId(id)} and consumed_at is null returning session_id
        ), used_session as (
          update sessions set last_used_at = now() where id in (select session_id from consumed_model)
        )
        select from consumed_model`.execute(db)
        if (rows.length === 0) throw new errors.InvalidGrant(`${model} was already used`)
      },

      async destroy(id) {
        await sql`delete from oidc_models where ${modelWithId(id)}`.execute(db)
      },

      /** Deletes all models of the grant. oidc-provider calls this only for models that applications can hold. */
      async revokeByGrantId(grantId) {
        await sql`delete from oidc_models where grant_id = ${grantId}`.execute(db)
      },
    }
  }
}

/**
 * Returns the uid of the sign-in session that a model belongs to; undefined if it belongs to none. Throws if a model of
 * a user has no session, because it would outlive the user's sign-out. Interactions are an exception.
 */
function findSignInSession(model: string, payload: AdapterPayload): string | undefined {
  const session = readSessionField(model, payload)
  if (session && isUid(session)) return session
  if (payload.accountId !== undefined && model !== 'Interaction')
    throw new Error(`oidc-provider keeps a ${model} of a user without their session`)
  return undefined
}

/**
 * Returns the field that contains the uid of the sign-in session. oidc-provider uses different fields for the kinds of
 * models.
 */
function readSessionField(model: string, { accountId, sessionUid, uid, session }: AdapterPayload): string | undefined {
  switch (model) {
    case 'Session':
      // Before a user has signed in, `uid` is a random value of oidc-provider.
      return accountId === undefined ? undefined : uid
    case 'Interaction':
      return (session as { uid?: string } | undefined)?.uid
    case 'Grant':
      return Provider.ctx?.oidc.session?.uid
    default:
      return sessionUid
  }
}

/**
 * The users of replayed codes and tokens by request, for the audit log. oidc-provider no longer has the model when it
 * emits its event.
 */
const replayedTokenUsers = new WeakMap<object, string>()

function recordReplayedTokenUser(user: string | undefined): void {
  const { ctx } = Provider
  if (ctx && user !== undefined) replayedTokenUsers.set(ctx, user)
}

export const findReplayedTokenUser = (ctx: object): string | undefined => replayedTokenUsers.get(ctx)

/**
 * Serialises a model without the values that give access: ids, the browser's session cookie and codes. A reader of the
 * database thus cannot use them.
 */
function serializePayload(model: string, id: string, payload: AdapterPayload): string {
  const { jti: _jti, userCode: _userCode, ...rest } = payload
  const stored: Record<string, unknown> = model === 'Interaction' ? removeInteractionIds(rest, id) : rest
  const text = JSON.stringify(stored)
  if (text.includes(String.raw`\u0000`) || !text.isWellFormed())
    throw new errors.InvalidRequest('a parameter holds a NUL character')
  return text
}

/**
 * Restores a model from its stored form: adds the id, which the database does not have, if it is known. An interaction
 * also has its id at the end of `returnTo`, and a device code that is encrypted with the id.
 */
function restorePayload(model: string, id: string, stored: AdapterPayload): AdapterPayload {
  const isIdKnown = id !== ''
  const payload = { ...stored, ...(isIdKnown && { jti: id }) }
  if (model !== 'Interaction') return payload
  const { deviceCode } = stored as { deviceCode?: string }
  return {
    ...payload,
    returnTo: `${stored.returnTo}${id}`,
    ...(deviceCode !== undefined && { deviceCode: openDeviceCode(deviceCode, id) }),
  }
}

/**
 * Removes the interaction's id and the browser's session cookie from an interaction, and encrypts its device code with
 * the id.
 */
function removeInteractionIds({ returnTo, session, ...rest }: AdapterPayload, id: string): Record<string, unknown> {
  const { cookie: _cookie, ...sessionWithoutCookie } = (session ?? {}) as { cookie?: string }
  const { deviceCode } = rest as { deviceCode?: string }
  return {
    ...rest,
    // The address ends with the id.
    returnTo: returnTo?.slice(0, -id.length),
    ...(session && { session: sessionWithoutCookie }),
    ...(deviceCode !== undefined && { deviceCode: sealDeviceCode(deviceCode, id) }),
  }
}

/** Returns whether the interaction exists and has not expired. */
export async function isOpenInteraction(db: Kysely<DB>, interaction: string): Promise<boolean> {
  const { rows } = await sql`
    select from oidc_models
    where model = 'Interaction' and id_hash = ${hashSecret(interaction)} and expires_at > now()`.execute(db)
  return rows.length > 0
}

/** Deletes models a minute after they expired. Several processes may do this concurrently. */
export const removeExpiredModels = (db: Kysely<DB>, signal?: AbortSignal): Promise<number> =>
  removeInBatches(db, 'oidc_models', sql<SqlBool>`expires_at < now() - interval '1 minute'`, signal)

const fiveMinutes = 300_000

/**
 * Deletes expired models every `interval` milliseconds until it is stopped. The hourly maintenance would be too rare,
 * because every unauthenticated request can create a pending sign-in.
 */
export const startModelCleanup = (db: Kysely<DB>, logger: Logger, interval = fiveMinutes): { stop(): Promise<void> } =>
  startPollingLoop(
    async (signal) => {
      await removeExpiredModels(db, signal)
      // Nothing is left to do until the next interval.
      return false
    },
    {
      pauseMs: interval,
      stopTimeoutMs: 0,
      failed: (err) => logger.warn({ err }, 'expired sign-ins could not be removed; the next try is in five minutes'),
    },
  )
