import { textsIn } from '../../pages/language.ts'
import { rememberOrganisation } from '../../pages/organisation-cookie.ts'
import { sendPage } from '../../pages/send-page.ts'
import { signInPage, type SignInFacts } from '../../pages/sign-in-page.ts'
import { publicAddress } from '../../public-address.ts'
import { isNotSignedIn, signIn } from '../../sign-in/sign-in.ts'
import type { Step } from './step.ts'
import { providersOf } from './providers.ts'
import { enter } from './finish.ts'
import { keepTicket } from './second-factor.ts'

/** Asks for username and password, or leads to where the organisation signs in its people. */
export const askPassword = (step: Step): Promise<void> => showPassword(step, 200, {})

export async function showPassword(
  step: Step,
  status: number,
  facts: Pick<SignInFacts, 'username' | 'message' | 'wrong'>,
): Promise<void> {
  const { config, prefix, base, csrf, request, response, language, application, interaction, target } = step
  const organisation = { name: application.organisation }
  const hint = interaction.params['login_hint']
  const page = signInPage({
    prefix,
    language,
    organisation,
    application: application.name,
    action: `${base}/login`,
    csrf: csrf.issue(request, response),
    providers: await providersOf(step),
    ...(typeof hint === 'string' && { username: hint.slice(0, 255) }),
    ...facts,
  })
  // For whoever asks for a new password from here.
  rememberOrganisation(response, organisation, publicAddress(config.IDENTITY_PUBLIC_URL).secure)
  sendPage(response, status, page, { formAction: [target] })
}

/** Takes `username` and `password`. */
export async function takePassword(step: Step): Promise<void> {
  const { request, response, audited, language, application, base } = step
  const { username = '', password = '' } = request.body as Record<string, string | undefined>
  const words = textsIn(language).signIn
  if (!isText(username) || !isText(password)) {
    const wrong = {
      ...(!isText(username) && { username: words.usernameMissing }),
      ...(!isText(password) && { password: words.passwordMissing }),
    }
    return showPassword(step, 400, { username: typeof username === 'string' ? username.slice(0, 255) : '', wrong })
  }
  try {
    const result = await audited('auth.login', request, response, (context) =>
      signIn({ username: username.trim(), password }, { ...context, of: application.tenant }),
    )
    if (result.kind === 'signed-in') return await enter(step, result)
    keepTicket(step, result)
    response.redirect(303, `${base}/code`)
  } catch (error) {
    if (!isNotSignedIn(error)) throw error
    await showPassword(step, 401, { username, message: words.refused })
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 1000
