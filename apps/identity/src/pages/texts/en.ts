import type { ApplicationScope } from '@sluice/contracts'
import { html, type HtmlValue } from '../html.ts'

/** All texts of the pages. Each language is one file with this shape. */
export const en = {
  language: 'en',
  /** The first word in the title of a page that shows a rejected form. */
  error: 'Error:',
  problem: 'There is a problem',
  username: 'Username',
  password: 'Password',
  tooLong: (maximum: number) => `Enter at most ${maximum} characters.`,

  signIn: {
    title: 'Sign in',
    toApplication: (application: HtmlValue) => html`to continue to ${application}`,
    submit: 'Sign in',
    forgot: 'Forgot your password?',
    or: 'or',
    provider: (label: HtmlValue) => html`Continue with ${label}`,
    usernameMissing: 'Enter your username.',
    passwordMissing: 'Enter your password.',
    refused: 'The username or password is incorrect, or you cannot sign in with a password.',
    organisation: 'Code of your organisation',
    organisationHint: 'If you sign in with your organisation’s account, enter its code here instead.',
    organisationSubmit: 'Find the sign-in service',
    organisationUnknown: 'No sign-in service is set up for an organisation with this code. Check the code.',
  },
  code: {
    title: 'Confirm your identity',
    lead: 'Open the authenticator app on your phone and enter the code shown there.',
    label: 'Code',
    hint: 'Six digits. A new code appears every 30 seconds.',
    recoveryLead: 'Enter one of the recovery codes that you saved when you set up two-step sign-in.',
    recoveryLabel: 'Recovery code',
    recoveryHint: 'Each code can be used only once.',
    submit: 'Continue',
    useRecovery: 'Use a recovery code instead',
    useApp: 'Use the authenticator app instead',
    missing: 'Enter the code.',
    refused: 'The code is incorrect or has already been used. Enter the code shown now.',
  },
  consent: {
    title: (application: string) => `Allow ${application}?`,
    heading: (application: HtmlValue) => html`Allow ${application}?`,
    lead: (application: HtmlValue, organisation: HtmlValue) =>
      html`${application} would like to act on your behalf at ${organisation}. It could then:`,
    nothing: (application: HtmlValue) => html`${application} would only like to know who you are.`,
    account: 'see your account details: name, username, e-mail address, roles, groups and organisation',
    as: (user: HtmlValue, username: HtmlValue) => html`You are signed in as ${user} (${username}).`,
    trust:
      'Allow access only if you trust the application. You can revoke it at any time with the API (/users/me/applications). Your administrator can also end it by ending your sessions.',
    allow: 'Allow',
    deny: 'Deny',
  },
  /** The pages of the device flow, with which a program on another device signs in. */
  device: {
    title: 'Sign in on another device',
    lead: 'Enter the code that the program or device shows.',
    label: 'Code',
    hint: 'Eight letters. Capitals and the hyphen do not matter.',
    submit: 'Continue',
    missing: 'Enter the code.',
    refused: 'The code is incorrect, has expired or has already been used. Check it, or request a new one.',
    confirmTitle: 'Did you request this sign-in?',
    confirmLead: (application: HtmlValue) => html`${application} requests to be signed in with your account.`,
    address: 'Network address',
    program: 'Program (as it names itself, not verified)',
    warning:
      'Continue only if you started the sign-in yourself and see this code there. If someone sent you the code or a link, they could get access to your data.',
    confirm: 'Yes, continue',
    abort: 'No, stop',
    doneTitle: 'The sign-in is complete',
    done: (application: HtmlValue) => html`${application} is signed in. You can close this window.`,
    deniedTitle: 'Nothing was allowed',
    denied: 'The program was not signed in. You can close this window.',
    ended: 'This sign-in took too long, or was completed in another window. Request a new code and start again.',
  },
  signedIn: {
    title: 'You are signed in',
    lead: (user: HtmlValue, username: HtmlValue, organisation: HtmlValue) =>
      html`${user} (${username}) is signed in to ${organisation}.`,
    commandLine: 'Use this sign-in on the command line',
    commands:
      'Run these lines in a terminal, and paste the refresh token when the first line waits for it. The token does not appear on the screen or in the shell history. The response contains the access token for the API.',
    token: 'The refresh token can be used only once. Anyone who has it can act as you, so do not share it.',
    stays: 'You can close this window. You stay signed in on the command line until you sign out here or there.',
  },
  signOut: {
    title: 'Sign out?',
    lead: 'You will have to sign in again to continue.',
    leadFor: (application: HtmlValue) => html`${application} asks whether you want to sign out here as well.`,
    submit: 'Sign out',
    stay: 'Stay signed in',
    doneTitle: 'You are signed out',
    done: 'You can close this window.',
    back: (application: HtmlValue) => html`Go to ${application}`,
  },
  newPassword: {
    invitationTitle: 'Welcome',
    invitationLead: (user: HtmlValue, organisation: HtmlValue) =>
      html`Hello ${user}. You have been invited to ${organisation}. Choose a password to get started.`,
    resetTitle: 'Choose a new password',
    resetLead: (user: HtmlValue) => html`New password for ${user}. You will then be signed out on all devices.`,
    label: 'New password',
    repeat: 'Confirm new password',
    rules: (minimum: number, maximum: number) => [
      `${minimum} to ${maximum} characters.`,
      'All characters are allowed, including spaces. A few unusual words are easy to remember and hard to guess.',
      'No commonly used password.',
      'Not your name, your username, your e-mail address or the name of your organisation.',
    ],
    invitationSubmit: 'Set password and continue',
    resetSubmit: 'Change password',
    missing: 'Enter a new password.',
    tooShort: (minimum: number) => `Enter at least ${minimum} characters.`,
    common: 'This password is too common. Choose another one.',
    context:
      'The password must not contain your name, your username, your e-mail address, the name of your organisation or “Sluice”. Choose another one.',
    unequal: 'The passwords do not match.',
    repeatMissing: 'Confirm the password.',
    invitationDoneTitle: 'Your account is ready',
    invitationDone: 'Your password is set. You can now sign in.',
    resetDoneTitle: 'Your password has been changed',
    resetDone: 'You have been signed out on all devices. Sign in with the new password.',
  },
  /** The links on the last page of a flow. */
  next: {
    signIn: (host: string) => `Sign in at ${host}`,
    ask: 'Don’t know where to sign in? Ask the person who invited you, or your administrator.',
  },
  /** The invitation page for a user with single sign-on. Its titles are those of `newPassword`. */
  join: {
    lead: (user: HtmlValue, organisation: HtmlValue) => html`Hello ${user}. You have been invited to ${organisation}.`,
    sso: 'You sign in with your organisation’s account. You do not need a separate password here.',
    submit: 'Join',
    done: 'You can now sign in with your organisation’s account.',
  },
  forgotPassword: {
    title: 'Forgot your password?',
    lead: 'Enter your username or your e-mail address. We will send you a link to choose a new password.',
    label: 'Username or e-mail address',
    submit: 'Send the link',
    missing: 'Enter your username or e-mail address.',
    doneTitle: 'Check your e-mail',
    done: 'If the account exists, we have sent you a link. It is valid for one hour and can be used only once. No e-mail? Check your spam folder, or ask your administrator.',
  },
  link: {
    title: 'This link does not work',
    invitation:
      'It has already been used, has expired or is incomplete. If you have already set a password, simply sign in. Otherwise, ask the person who invited you for a new invitation.',
    reset:
      'It has already been used, has expired or is incomplete. A link to choose a new password is valid for one hour and can be used only once.',
    again: 'Get a new link',
  },
  application: {
    unknown: {
      title: 'This application is not registered here',
      text: 'It may have been removed, or its organisation may be disabled. Tell the person responsible for the application.',
    },
    wrongAddress: {
      title: 'The application cannot be opened',
      text: 'The application tried to send you to an address that is not registered for it. It may be set up incorrectly, or someone may be trying to trick you.',
    },
    wrongRequest: {
      title: 'This application is not set up for sign-in here',
      text: 'The application requested something that it is not allowed to. Go back to the application and inform the person responsible for it.',
    },
    broken: {
      title: 'Something went wrong',
      text: 'The error is on our side. Nothing was changed. Go back to the application and try again in a minute.',
    },
    ended: {
      title: 'This sign-in is no longer valid',
      text: 'The sign-in took too long, was completed in another tab, or your browser blocks cookies for this page. Go back to the application and start again.',
    },
    other: {
      title: 'Sign-in failed',
      text: 'Go back to the application and start again.',
    },
    federated: 'Sign-in with your organisation’s account failed. Try again, or ask your administrator.',
    forDevelopers: 'For the person responsible for the application:',
  },
  /** The permission that each scope grants. The texts continue the lead sentence of the consent page. */
  scopes: {
    openid: 'know who you are',
    profile: 'see your name and username',
    email: 'see your e-mail address',
    groups: 'see which user groups you are in',
    organization: 'see which organisation you belong to',
    offline_access: 'stay signed in on your behalf, even when you are not using it',
    ROLE_MANAGE_CLIENT: 'see and change organisations',
    ROLE_MANAGE_USER: 'see and change users',
    ROLE_MANAGE_USER_GROUP: 'see and change user groups',
    ROLE_MANAGE_SSO_PROVIDER_CONFIG: 'see and change the organisation’s SSO providers',
    ROLE_MANAGE_SSO_CLIENT_CONFIG: 'see and change the registered applications',
    ROLE_SEE_INSTANCE: 'see instances',
    ROLE_MANAGE_INSTANCE: 'see and change instances',
    ROLE_GET_FILE: 'download files',
    ROLE_GET_FILE_INDIVIDUAL: 'download individual files',
    ROLE_SEE_AUDIT_LOG: 'see the audit log',
    ROLE_MANAGE_HOSTING_PLAN: 'see and change hosting plans',
    ROLE_SEE_ROUTE: 'see routes',
    ROLE_MANAGE_ROUTE: 'see and change routes',
    ROLE_SEE_DATA_PIPELINE: 'see data pipelines',
    ROLE_MANAGE_DATA_PIPELINE: 'see, change and run data pipelines',
    ROLE_SEE_VIEW: 'see views',
    ROLE_MANAGE_VIEW: 'see and change views',
    ROLE_SEE_SCHEMA: 'see schemas',
    ROLE_MANAGE_SCHEMA: 'see and change schemas',
    ROLE_SEE_DESTINATION: 'see destinations',
    ROLE_MANAGE_DESTINATION: 'see and change destinations',
    ROLE_SEE_WORKFLOW: 'see workflows',
    ROLE_MANAGE_WORKFLOW: 'see and change workflows',
    ROLE_SEE_VARIABLE: 'see variables',
    ROLE_MANAGE_VARIABLE: 'see and change variables',
    ROLE_MANAGE_SETTING: 'see and change settings',
    ROLE_SEE_DATA_QUALITY_CHECK: 'see data quality checks',
    ROLE_MANAGE_DATA_QUALITY_CHECK: 'see and change data quality checks',
    ROLE_SEE_DATA_QUALITY_CHECK_GROUP: 'see groups of data quality checks',
    ROLE_MANAGE_DATA_QUALITY_CHECK_GROUP: 'see and change groups of data quality checks',
    ROLE_SEE_FIREWALL_RULE: 'see firewall rules',
    ROLE_MANAGE_FIREWALL_RULE: 'see and change firewall rules',
    ROLE_VIEW_DATA_ANALYTICS_PLATFORM: 'view data in the analytics platform',
    ROLE_VIEW_DATA_ALL_DATA_PIPELINE: 'view the data of all data pipelines',
    ROLE_SEE_DATA_PIPELINE_CONFIG: 'see how data pipelines are set up',
    ROLE_MANAGE_DATA_PIPELINE_CONFIG: 'see and change how data pipelines are set up',
    ROLE_MANAGE_PUBLIC_DATASET_CATALOG: 'see and change the catalogue of public data sets',
  } satisfies Record<ApplicationScope, string>,
  problems: {
    crossSiteTitle: 'This form cannot be sent',
    crossSite:
      'It was open for too long, was sent from another page, or your browser blocks cookies for this page. Go back, reload the page and send the form again.',
    waitTitle: 'Please wait a moment',
    wait: (seconds: number) => `Too many attempts. Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    busyTitle: 'Just a moment',
    busy: 'A service that we need is not available right now. Try again in a minute.',
    notFoundTitle: 'Page not found',
    notFound: 'Check the address, or go back to the previous page.',
    unreadableTitle: 'The form could not be read',
    unreadable: 'The form was sent in an invalid format. Go back and try again.',
    internalTitle: 'Something went wrong',
    internal: 'The error is on our side. Nothing was changed. Try again in a minute.',
    /**
     * Pages about a failed sign-in at a provider, by problem code. If an application started the sign-in, it gets the
     * error instead.
     */
    federated: {
      'sso-unknown': {
        title: 'This sign-in is no longer valid',
        text: 'The sign-in took longer than ten minutes, has already been completed, or was started in another browser. Start again.',
      },
      'sso-denied': {
        title: 'Sign-in failed',
        text: 'Your organisation’s sign-in service refused the sign-in, or you cancelled it. Start again, or ask your administrator.',
      },
      'sso-provider-failed': {
        title: 'Sign-in failed',
        text: 'Your organisation’s sign-in service did not respond correctly. Start again in a minute, or ask your administrator.',
      },
      'sso-address-refused': {
        title: 'Sign-in failed',
        text: 'Your organisation’s sign-in service is not set up correctly here. Ask your administrator.',
      },
      'sign-in-failed': {
        title: 'Sign-in failed',
        text: 'Your organisation confirmed who you are, but your account does not belong to an active user here. Ask your administrator.',
      },
    },
    reference: (id: HtmlValue) => html`If you ask for help, give this reference: ${id}`,
  },
}

export type PageTexts = typeof en
