import type { ApplicationScope } from '@sluice/contracts'
import { html, type HtmlValue } from '../html.ts'

/** All texts of the pages. Each language is one file with this shape. */
export const en = {
  language: 'en',
  error: 'Error',
  problem: 'There is a problem',
  /** The title: the name of the page and of the organisation. */
  title: (page: string, whose: string) => `${page} – ${whose}`,
  username: 'Username',
  password: 'Password',

  signIn: {
    title: 'Sign in',
    toApplication: (application: HtmlValue) => html`to continue to ${application}`,
    submit: 'Sign in',
    forgot: 'Forgot your password?',
    or: 'or',
    provider: (label: HtmlValue) => html`Continue with ${label}`,
    usernameMissing: 'Enter your username.',
    passwordMissing: 'Enter your password.',
    refused: 'The username or the password is not right, or you may not sign in this way.',
  },
  code: {
    title: 'Confirm that it is you',
    lead: 'Open the authenticator app on your phone and enter the code that it shows now.',
    label: 'Code',
    hint: 'Six digits. A new code appears every 30 seconds.',
    recoveryLead: 'Enter one of the recovery codes that you kept when you set up two-step sign-in.',
    recoveryLabel: 'Recovery code',
    recoveryHint: 'Each code works once.',
    submit: 'Continue',
    useRecovery: 'Use a recovery code instead',
    useApp: 'Use the authenticator app instead',
    missing: 'Enter the code.',
    refused: 'The code is not right, or was used already. Enter the newest one.',
  },
  consent: {
    title: (application: string) => `Allow ${application}?`,
    heading: (application: HtmlValue) => html`Allow ${application}?`,
    lead: (application: HtmlValue, organisation: HtmlValue) =>
      html`${application} asks to act for you at ${organisation}. It would be able to:`,
    nothing: (application: HtmlValue) => html`${application} asks to know who you are, and nothing else.`,
    account: 'see your account here: name, username, e-mail address, roles, groups and organisation',
    as: (who: HtmlValue, username: HtmlValue) => html`You are signed in as ${who} (${username}).`,
    trust:
      'Allow this only if you trust the application. You can take it back at any time with the API, at /users/me/applications; whoever manages your users can end its access too, by ending your sessions.',
    allow: 'Allow',
    deny: 'Do not allow',
  },
  signedIn: {
    title: 'You are signed in',
    lead: (who: HtmlValue, username: HtmlValue, organisation: HtmlValue) =>
      html`${who} (${username}) is signed in to ${organisation}.`,
    commandLine: 'Use this sign-in on the command line',
    commands:
      'Run these lines in a terminal, and paste the refresh token when the first line waits for it. The token does not appear on the screen or in the shell history. The response contains the access token for the API.',
    token: 'The refresh token works once. Anyone who has it can act as you, so do not share it.',
    stays:
      'You can close this window. You stay signed in on the command line until you sign out here or with POST /auth/logout.',
  },
  signOut: {
    title: 'Sign out?',
    lead: 'You will have to sign in again to come back.',
    leadFor: (application: HtmlValue) => html`${application} asks whether to sign you out here as well.`,
    submit: 'Sign out',
    stay: 'Stay signed in',
    doneTitle: 'You are signed out',
    done: 'You can close this window.',
    back: (application: HtmlValue) => html`Go to ${application}`,
  },
  newPassword: {
    invitationTitle: 'Welcome',
    invitationLead: (who: HtmlValue, organisation: HtmlValue) =>
      html`Hello ${who}. You are invited to ${organisation}. Choose a password to begin.`,
    resetTitle: 'Choose a new password',
    resetLead: (who: HtmlValue) => html`For ${who}. Afterwards you are signed out everywhere.`,
    label: 'New password',
    repeat: 'New password again',
    rules: (least: number, most: number) => [
      `${least} to ${most} characters.`,
      'Any characters are fine, spaces too: a few unusual words are easy to remember and hard to guess.',
      'Not one of the passwords that everybody guesses first.',
      'Without your name, your username, your e-mail address, or the name of your organisation.',
    ],
    invitationSubmit: 'Set password and join',
    resetSubmit: 'Change password',
    missing: 'Enter a new password.',
    tooShort: (least: number) => `Enter at least ${least} characters.`,
    tooLong: (most: number) => `Enter at most ${most} characters.`,
    common: 'This password is on every list of common ones: choose another.',
    context:
      'A password does not hold your name, username or e-mail address, nor the name of your organisation or of Sluice: choose another.',
    unequal: 'The two passwords are not the same.',
    repeatMissing: 'Enter the password again.',
    invitationDoneTitle: 'You are all set',
    invitationDone: 'Your password is set. You can sign in now.',
    resetDoneTitle: 'Your password is changed',
    resetDone: 'You were signed out everywhere. Sign in with the new password.',
  },
  /** The links that a final page shows. */
  next: {
    signIn: (host: string) => `Sign in at ${host}`,
    ask: 'You do not know the address where you sign in? Ask whoever invited you, or whoever manages your users.',
  },
  join: {
    title: 'Welcome',
    lead: (who: HtmlValue, organisation: HtmlValue) => html`Hello ${who}. You are invited to ${organisation}.`,
    sso: 'You sign in with the account of your organisation, so there is no password to choose here.',
    submit: 'Join',
    doneTitle: 'You are all set',
    done: 'You can sign in now with the account of your organisation.',
  },
  forgotPassword: {
    title: 'Forgot your password?',
    lead: 'Enter your username or your e-mail address, and we send you a link to choose a new password.',
    label: 'Username or e-mail address',
    submit: 'Send the link',
    missing: 'Enter your username or e-mail address.',
    tooLong: (most: number) => `Enter at most ${most} characters.`,
    doneTitle: 'Look at your e-mail',
    done: 'If there is such an account, a link is on its way. It works once, for one hour. Nothing there? Look into the spam folder, or ask whoever manages your users.',
  },
  link: {
    title: 'This link does not work',
    invitation:
      'It was used already, has expired or is not complete. If you have set a password already, simply sign in. Otherwise ask whoever invited you to send a new invitation.',
    reset: 'It was used already, has expired or is not complete. A link to choose a password works once, for one hour.',
    again: 'Get a new link',
  },
  application: {
    unknown: {
      title: 'This application is not known here',
      text: 'It may have been removed, or its organisation is disabled. Tell whoever looks after the application.',
    },
    wrongAddress: {
      title: 'You cannot be sent back to this address',
      text: 'The application asked to send you to an address that is not registered for it. It may be set up wrongly, or somebody is trying to trick you.',
    },
    wrongRequest: {
      title: 'This application is not set up for signing in here',
      text: 'The application asked for something that it may not. Go back to it, and tell whoever looks after it.',
    },
    broken: {
      title: 'Something went wrong',
      text: 'The mistake is on our side, and nothing was changed. Go back to the application and try again in a minute.',
    },
    ended: {
      title: 'This sign-in has ended',
      text: 'It took too long, was finished in another tab, or your browser keeps no cookies for this page. Go back to the application and start again.',
    },
    other: {
      title: 'You cannot be signed in',
      text: 'Go back to the application and start again.',
    },
    federated:
      'You could not be signed in with the account of your organisation. Try again, or ask whoever looks after your account.',
    forDevelopers: 'For whoever looks after the application:',
  },
  /** The permissions of each scope. They continue the lead sentence of the consent page. */
  scopes: {
    openid: 'know who you are',
    profile: 'see your name and username',
    email: 'see your e-mail address',
    groups: 'see which user groups you are in',
    organization: 'see which organisation you belong to',
    offline_access: 'stay signed in for you when you are not there',
    ROLE_MANAGE_CLIENT: 'see and change organisations',
    ROLE_MANAGE_USER: 'see and change users',
    ROLE_MANAGE_USER_GROUP: 'see and change user groups',
    ROLE_MANAGE_SSO_PROVIDER_CONFIG: 'see and change where the organisation’s people sign in',
    ROLE_MANAGE_SSO_CLIENT_CONFIG: 'see and change the applications that people sign in to',
    ROLE_SEE_INSTANCE: 'see instances',
    ROLE_MANAGE_INSTANCE: 'see and change instances',
    ROLE_GET_FILE: 'fetch files',
    ROLE_GET_FILE_INDIVIDUAL: 'fetch individual files',
    ROLE_SEE_AUDIT_LOG: 'see who did what',
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
      'It was open for too long, was sent from another page, or your browser keeps no cookies for this one. Go back, load the page again and send it once more.',
    waitTitle: 'Please wait a little',
    wait: (seconds: number) => `There were too many tries. You can try again in ${seconds} seconds.`,
    busyTitle: 'Just a moment',
    busy: 'Something that this needs cannot be reached just now. Try again in a minute.',
    notFoundTitle: 'Page not found',
    notFound: 'Check the address, or go back to where you came from.',
    unreadableTitle: 'That could not be read',
    unreadable: 'The form came in a way that cannot be read. Go back and try again.',
    internalTitle: 'Something went wrong',
    internal: 'The mistake is on our side, and nothing was changed. Try again in a minute.',
    /**
     * Pages about a failed sign-in at a provider, by problem code. If an application started the sign-in, the application
     * gets the error instead.
     */
    federated: {
      'sso-unknown': {
        title: 'This sign-in has ended',
        text: 'It took longer than ten minutes, was finished already, or began in another browser. Start again.',
      },
      'sso-denied': {
        title: 'You are not signed in',
        text: 'The sign-in was refused or cancelled at the sign-in service of your organisation. Start again, or ask your administrator.',
      },
      'sso-provider-failed': {
        title: 'You are not signed in',
        text: 'The sign-in service of your organisation gave no valid answer. Start again in a minute, or ask your administrator.',
      },
      'sso-address-refused': {
        title: 'You are not signed in',
        text: 'The sign-in service of your organisation is not set up correctly here. Ask your administrator.',
      },
      'sign-in-failed': {
        title: 'You are not signed in',
        text: 'Your organisation confirmed who you are, but no active user here belongs to your account. Ask your administrator.',
      },
    },
    reference: (id: HtmlValue) => html`If you ask for help, name this: ${id}`,
  },
}

export type PageTexts = typeof en
