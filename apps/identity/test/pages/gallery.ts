import { codePage } from '../../src/pages/code-page.ts'
import { consentPage } from '../../src/pages/consent-page.ts'
import { forgotPasswordPage } from '../../src/pages/account/forgot-password.ts'
import { textsIn } from '../../src/pages/language.ts'
import { messagePage } from '../../src/pages/message-page.ts'
import { joinPage, newPasswordPage } from '../../src/pages/account/one-time-links.ts'
import { signedInPage } from '../../src/pages/signed-in-page.ts'
import { signInPage } from '../../src/pages/sign-in-page.ts'
import { signedOutPage, signOutPage } from '../../src/pages/sign-out-pages.ts'

interface People {
  organisation: string
  application: string
  user: { name: string; username: string }
}

const somebody: People = {
  organisation: 'Northwind Weather Service',
  application: 'Station Planner',
  user: { name: 'Grace Okafor', username: 'grace.okafor' },
}

/** Returns every page in each of its states. */
export function gallery(language = 'en', people: People = somebody): Record<string, string> {
  const { application, user } = people
  const { signIn, code, newPassword, forgotPassword, link, scopes } = textsIn(language)
  const whose = { organisation: { name: people.organisation }, language }
  const form = { ...whose, action: '/account/somewhere', csrf: 'token' }
  return {
    'signed-in': signedInPage({
      ...whose,
      user,
      refreshToken: 'slr_0000000000000000000000000000000000000000000',
      refreshUrl: 'https://id.example.org/api/v1/auth/refresh',
      home: 'https://planner.example/',
      action: '/account/sign-out',
    }),
    'sign-in': signInPage({ ...form, application }),
    'sign-in-failed': signInPage({
      ...form,
      username: user.username,
      message: signIn.refused,
      providers: [{ href: '/sign-in/acme', label: people.organisation }],
    }),
    'sign-in-empty': signInPage({
      ...form,
      wrong: { username: signIn.usernameMissing, password: signIn.passwordMissing },
    }),
    code: codePage({ ...form, otherHref: '?recovery=1' }),
    'code-failed': codePage({ ...form, message: code.refused }),
    'recovery-code': codePage({ ...form, recovery: true, otherHref: '?' }),
    consent: consentPage({
      ...form,
      application,
      user,
      scopes: [
        { name: 'openid', description: scopes.openid },
        { name: 'ROLE_SEE_DATA_PIPELINE', description: scopes.ROLE_SEE_DATA_PIPELINE },
        { name: 'odd', description: '' },
      ],
    }),
    'consent-to-nothing': consentPage({ ...form, application, user, scopes: [] }),
    'sign-out': signOutPage({ ...whose, action: '/out', hidden: { xsrf: 'x' }, application }),
    'signed-out': signedOutPage({ ...whose, application: { name: application, href: 'https://planner.example/' } }),
    invitation: newPasswordPage({ ...form, user, purpose: 'invitation' }),
    reset: newPasswordPage({ ...form, user, purpose: 'reset', hidden: { token: 'secret' } }),
    'reset-failed': newPasswordPage({
      ...form,
      user,
      purpose: 'reset',
      wrong: { password: newPassword.tooShort(12), repeat: newPassword.unequal },
    }),
    join: joinPage({ ...form, user }),
    'forgot-password': forgotPasswordPage(form),
    'forgot-password-empty': forgotPasswordPage({ ...form, wrong: { username: forgotPassword.missing } }),
    message: messagePage({ ...whose, title: forgotPassword.doneTitle, text: forgotPassword.done, status: 'success' }),
    problem: messagePage({
      ...whose,
      title: link.title,
      text: link.reset,
      note: 'If you ask for help, give this reference: 6f1c',
      status: 'problem',
      link: { href: '/account/forgot-password', label: link.again },
    }),
  }
}
