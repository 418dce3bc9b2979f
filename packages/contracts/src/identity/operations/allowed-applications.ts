import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { AllowedApplication } from '../allowed-application.ts'

/** What people allowed applications to do for them. */
export const allowedApplications = {
  list: signature({
    id: 'allowedApplications.list',
    summary: 'List the applications that you allowed to act for you',
    method: 'get',
    path: '/users/me/applications',
    guard: 'in-person',
    response: listOf(AllowedApplication),
  }),
  delete: signature({
    id: 'allowedApplications.delete',
    summary: 'Allow an application nothing any more',
    description:
      'Its tokens end at once here, and within ten seconds in the other service. It asks again at the next sign-in.',
    method: 'delete',
    path: '/users/me/applications/:uid',
    guard: 'in-person',
  }),
}
