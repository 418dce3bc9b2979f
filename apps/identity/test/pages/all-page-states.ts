import { renderCodeForm } from '../../src/pages/second-factor-page.ts'
import { renderConsentPage } from '../../src/pages/consent-page.ts'
import { renderDeviceCodePage, renderDeviceConfirmationPage } from '../../src/pages/device-pages.ts'
import { renderForgotPasswordPage } from '../../src/pages/account/forgot-password.ts'
import { readPageTexts } from '../../src/pages/choose-language.ts'
import { renderMessagePage } from '../../src/pages/message-page.ts'
import { renderJoinPage, renderNewPasswordPage } from '../../src/pages/account/one-time-link-pages.ts'
import { renderTokenPage } from '../../src/pages/signed-in-page.ts'
import { renderSignInPage } from '../../src/pages/sign-in-page.ts'
import { renderSignedOutPage, renderSignOutPage } from '../../src/pages/sign-out-pages.ts'

interface People {
  organisation: string
  application: string
  user: { name: string; username: string }
}

const sampleUser: People = {
  organisation: 'Northwind Weather Service',
  application: 'Station Planner',
  user: { name: 'Grace Okafor', username: 'grace.okafor' },
}

/** Returns every page in each of its states. */
export function gallery(language = 'en', people: People = sampleUser): Record<string, string> {
  const { application, user } = people
  const { signIn, code, device, newPassword, forgotPassword, link, scopes } = readPageTexts(language)
  const whose = { organisation: { name: people.organisation }, language }
  const form = { ...whose, action: '/account/somewhere', csrf: 'token' }
  const deviceForm = { ...whose, action: '/device', hidden: { xsrf: 'token' } }
  return {
    'signed-in': renderTokenPage({
      ...whose,
      user,
      refreshToken: 'slr_0000000000000000000000000000000000000000000',
      refreshUrl: 'https://id.example.org/api/v1/auth/refresh',
      home: 'https://planner.example/',
      action: '/account/sign-out',
    }),
    'sign-in': renderSignInPage({ ...form, application }),
    'sign-in-failed': renderSignInPage({
      ...form,
      username: user.username,
      message: signIn.refused,
      providers: [{ href: '/sign-in/acme', label: people.organisation }],
    }),
    'sign-in-empty': renderSignInPage({
      ...form,
      fieldErrors: { username: signIn.usernameMissing, password: signIn.passwordMissing },
    }),
    'sign-in-to-console': renderSignInPage({
      ...form,
      application,
      organisationForm: { action: '/interaction/x', code: 'NORTH' },
      providers: [{ href: '/sign-in/acme', label: people.organisation }],
    }),
    'sign-in-to-console-failed': renderSignInPage({
      ...form,
      application,
      organisationForm: { action: '/interaction/x', code: people.organisation, error: signIn.organisationUnknown },
    }),
    device: renderDeviceCodePage({ ...deviceForm, userCode: 'BCDF-GHJK' }),
    'device-failed': renderDeviceCodePage({ ...deviceForm, message: device.refused }),
    'device-confirmation': renderDeviceConfirmationPage({
      ...deviceForm,
      application,
      userCode: 'BCDF-GHJK',
      address: '2001:db8:7c10:4f00:1234:5678:9abc:def0',
      userAgent: `sluice/1.4 linux ${user.username}`,
    }),
    'device-done': renderMessagePage({
      ...whose,
      title: device.doneTitle,
      text: device.done(application),
      status: 'success',
    }),
    'device-denied': renderMessagePage({ ...whose, title: device.deniedTitle, text: device.denied }),
    code: renderCodeForm({ ...form, otherHref: '?recovery=1' }),
    'code-failed': renderCodeForm({ ...form, message: code.refused }),
    'recovery-code': renderCodeForm({ ...form, recovery: true, otherHref: '?' }),
    consent: renderConsentPage({
      ...form,
      application,
      user,
      scopes: [
        { name: 'openid', description: scopes.openid },
        { name: 'ROLE_SEE_DATA_PIPELINE', description: scopes.ROLE_SEE_DATA_PIPELINE },
        { name: 'odd', description: '' },
      ],
    }),
    'consent-to-nothing': renderConsentPage({ ...form, application, user, scopes: [] }),
    'sign-out': renderSignOutPage({ ...whose, action: '/out', hidden: { xsrf: 'x' }, application }),
    'signed-out': renderSignedOutPage({
      ...whose,
      application: { name: application, href: 'https://planner.example/' },
    }),
    invitation: renderNewPasswordPage({ ...form, user, purpose: 'invitation' }),
    reset: renderNewPasswordPage({ ...form, user, purpose: 'reset', hidden: { token: 'secret' } }),
    'reset-failed': renderNewPasswordPage({
      ...form,
      user,
      purpose: 'reset',
      fieldErrors: { password: newPassword.tooShort(12), repeat: newPassword.unequal },
    }),
    join: renderJoinPage({ ...form, user }),
    'forgot-password': renderForgotPasswordPage(form),
    'forgot-password-empty': renderForgotPasswordPage({ ...form, fieldErrors: { username: forgotPassword.missing } }),
    message: renderMessagePage({
      ...whose,
      title: forgotPassword.doneTitle,
      text: forgotPassword.done,
      status: 'success',
    }),
    problem: renderMessagePage({
      ...whose,
      title: link.title,
      text: link.reset,
      note: 'If you ask for help, give this reference: 6f1c',
      status: 'problem',
      link: { href: '/account/forgot-password', label: link.again },
    }),
  }
}
