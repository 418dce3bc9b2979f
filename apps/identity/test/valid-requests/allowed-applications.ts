import { sql } from 'kysely'
import { applicationBody } from '../application-body.ts'
import type { ValidRequests, Stage } from './valid-requests.ts'

export const allowedApplicationRequests = ({ service, admin }: Stage): ValidRequests => {
  const allowed = async () => {
    const { body } = await admin.post('/sso-client-configs').send(applicationBody()).expect(201)
    await sql`
      insert into application_consents (user_id, sso_client_config_id, scopes)
      select u.id, a.id, '{openid}' from users u, sso_client_configs a
      where u.uid = ${admin.uid} and a.uid = ${body.id}`.execute(service.db)
    return { by: admin, uid: body.id as string }
  }
  return {
    'allowedApplications.list': async () => ({ by: (await allowed()).by }),
    'allowedApplications.delete': allowed,
  }
}
