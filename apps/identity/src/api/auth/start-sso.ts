import type { SsoStartQuery } from '@sluice/contracts'
import { Redirect } from '@sluice/http'
import { isOpenInteraction } from '../../oidc/open-interaction.ts'
import { csrfGuard } from '../../csrf.ts'
import { browserCookies } from '../../sign-in/federated/browser-cookie.ts'
import { authorizationUrl } from '../../sign-in/federated/exchange.ts'
import { callbackUrl, findProviderConfig } from '../../sign-in/federated/provider-config.ts'
import { providerProblem } from '../../sign-in/federated/provider-problem.ts'
import { noSingleSignOn, providerFailed, unknownSignIn } from '../../sign-in/federated/sign-in-problems.ts'
import { begin } from '../../sign-in/federated/under-way.ts'
import type { Asked } from '../operation.ts'

/** Leads a browser to its client's provider. Writes nothing: what has to be remembered goes along, sealed. */
export async function startSso(
  clientCode: string,
  { interaction, mark = '' }: SsoStartQuery,
  input: Asked,
): Promise<Redirect> {
  if (interaction && !(await isPageHere(interaction, mark, input))) throw unknownSignIn()
  const { db, config, federation } = input
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

/**
 * Is the page open, and did this very browser follow its link? Anybody else's link would open a session for whoever follows
 * it that nobody can use.
 */
async function isPageHere(interaction: string, mark: string, { db, config, request }: Asked): Promise<boolean> {
  return csrfGuard(config).isMarked(request.stream, interaction, mark) && (await isOpenInteraction(db, interaction))
}
