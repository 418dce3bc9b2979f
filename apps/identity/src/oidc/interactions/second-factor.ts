import { codePage } from '../../pages/code-page.ts'
import { sendPage } from '../../pages/send-page.ts'
import type { SecondFactorWanted } from '../../sign-in/sign-in.ts'
import type { Step } from '../interactions.ts'

const cookie = 'sluice-second-factor'

/** Between the two steps the browser keeps what says that the password was right, for this interaction only. */
export function keepTicket({ response, base, config }: Step, { ticket }: SecondFactorWanted): void {
  const secure = config.IDENTITY_PUBLIC_URL.startsWith('https:')
  response.cookie(cookie, ticket, { httpOnly: true, sameSite: 'lax', secure, path: base, maxAge: 600_000 })
}

/** Asks for the code of an app, or with `?recovery` for a recovery code. */
export async function askCode({ base, csrf, request, response, language, application, target }: Step): Promise<void> {
  const recovery = 'recovery' in request.query
  const page = codePage({
    language,
    organisation: { name: application.organisation },
    action: `${base}/code${recovery ? '?recovery' : ''}`,
    csrf: csrf.issue(request, response),
    recovery,
    otherHref: `${base}/code${recovery ? '' : '?recovery'}`,
  })
  sendPage(response, 200, page, { formAction: [target] })
}

export async function takeCode({ response, base }: Step): Promise<void> {
  response.redirect(303, base)
}
