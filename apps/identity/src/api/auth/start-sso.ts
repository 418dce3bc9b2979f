import type { SsoStartQuery } from '@sluice/contracts'
import { Redirect } from '@sluice/http'
import { browserCookies } from '../../sign-in/federated/browser-cookie.ts'
import { authorizationUrl } from '../../sign-in/federated/exchange.ts'
import { callbackUrl, findProviderConfig } from '../../sign-in/federated/provider-config.ts'
import { providerProblem } from '../../sign-in/federated/provider-problem.ts'
import { noSingleSignOn, providerFailed } from '../../sign-in/federated/sign-in-problems.ts'
import { begin } from '../../sign-in/federated/under-way.ts'
import type { Asked } from '../operation.ts'

/** Leads a browser to its client's provider. Writes nothing: what has to be remembered goes along, sealed. */
export async function startSso(
  clientCode: string,
  { interaction }: SsoStartQuery,
  { db, config, federation }: Asked,
): Promise<Redirect> {
  const provider = await findProviderConfig(db, config, { clientCode })
  if (!provider) throw noSingleSignOn()
  const about = { config: provider.uid, issuer: provider.issuer.href, ...(interaction && { interaction }) }
  const { underWay, secret, state } = begin(config.SECRET_KEYS, about)
  try {
    const cookies = browserCookies(new URL(callbackUrl(config)))
    const url = await authorizationUrl(provider, federation, { state, secret })
    return new Redirect(url, { 'Set-Cookie': cookies.set(underWay.browser, secret) })
  } catch (error) {
    const problem = providerProblem(error)
    throw problem ? providerFailed(problem) : error
  }
}
