import { sql, type Kysely, type Transaction } from 'kysely'
import { Problem } from '@sluice/http'
import type { DB } from '../../database.ts'
import { textsIn } from '../../pages/language.ts'
import { sendPage } from '../../pages/send-page.ts'
import { signInPage, type SignInFacts } from '../../pages/sign-in-page.ts'
import { signIn } from '../../sign-in/sign-in.ts'
import type { Step } from '../interactions.ts'
import { enter } from './finish.ts'
import { keepTicket } from './second-factor.ts'

/** Asks for username and password, or leads to where the organisation signs in its people. */
export const askPassword = (step: Step): Promise<void> => show(step, 200, {})

async function show(
  step: Step,
  status: number,
  facts: Pick<SignInFacts, 'username' | 'message' | 'wrong'>,
): Promise<void> {
  const { base, csrf, request, response, language, application, interaction, target } = step
  const hint = interaction.params['login_hint']
  const page = signInPage({
    language,
    organisation: { name: application.organisation },
    application: application.name,
    action: `${base}/login`,
    csrf: csrf.issue(request, response),
    providers: await providersOf(step),
    ...(typeof hint === 'string' && { username: hint.slice(0, 255) }),
    ...facts,
  })
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
    return show(step, 400, { username: String(username).slice(0, 255), wrong })
  }
  try {
    const result = await audited('auth.login', request, response, (context) =>
      signIn({ username: username.trim(), password }, { ...context, opened: demandOf(application.tenant) }),
    )
    if (result.kind === 'signed-in') return await enter(step, result)
    keepTicket(step, result)
    response.redirect(303, `${base}/code`)
  } catch (error) {
    if (!isRefusal(error)) throw error
    await show(step, 401, { username, message: words.refused })
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 1000

const isRefusal = (error: unknown): boolean =>
  error instanceof Problem && (error.status === 401 || error.status === 403)

/** Refuses whoever is not of the application's own organisation, as if the password were wrong: nothing is opened. */
export const demandOf = (client: string) =>
  async function demand(trx: Transaction<DB>, session: { id: number }): Promise<void> {
    const { rows } = await sql`
      select from sessions s join users u on u.id = s.user_id where s.id = ${session.id} and u.client = ${client}`.execute(
      trx,
    )
    if (rows.length === 0) throw new Problem(401, 'sign-in-failed', 'You are not of this application’s organisation.')
  }

/** Where else people of the application's organisation sign in. */
async function providersOf({ db, application, interaction }: Step): Promise<{ href: string; label: string }[]> {
  const { rows } = await providerConfigs(db, application.tenant)
  return rows.map(({ code, domain }) => ({
    href: `/api/v1/auth/sso/${encodeURIComponent(code)}?interaction=${interaction.uid}`,
    label: domain,
  }))
}

const providerConfigs = async (
  _db: Kysely<DB>,
  _client: string,
): Promise<{ rows: { code: string; domain: string }[] }> => ({
  rows: [],
})
