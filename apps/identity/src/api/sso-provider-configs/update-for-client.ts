import type { SsoProviderConfigBody, SsoProviderConfigWithCredentials } from '@sluice/contracts'
import { Answer, problems } from '@sluice/http'
import { secretOf } from '../../sign-in/federated/provider-config.ts'
import type { Asked } from '../operation.ts'
import { ssoProviderConfigRecords } from './records.ts'
import { updateSsoProviderConfig } from './write.ts'

/** The same as an update, for a client that is named, and with the credentials in the answer. */
export async function updateForClient(
  { clientId, uid }: { clientId: string; uid: string },
  body: SsoProviderConfigBody,
  input: Asked,
): Promise<Answer<SsoProviderConfigWithCredentials>> {
  const { client } = await ssoProviderConfigRecords.read(input.db, input.caller, uid)
  if (client !== clientId.toLowerCase()) throw problems.notFound(ssoProviderConfigRecords.kind.noun)
  const row = await updateSsoProviderConfig(uid, body, input)
  const answer = await ssoProviderConfigRecords.answer(row, input)
  const clientSecret = secretOf(row, input.config.SECRET_KEYS)
  return new Answer(
    {
      ...answer.body,
      ...(row.client_id !== null && { clientId: row.client_id }),
      ...(clientSecret !== undefined && { clientSecret }),
    },
    answer.headers,
  )
}
