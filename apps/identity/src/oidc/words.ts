/** What pages say of requests that applications made wrong, by OAuth's error code. */
const wrongApplication = {
  title: 'This application is not set up for signing in here',
  text: 'The application asked for something that it may not. Go back to it, and tell whoever looks after it.',
}

export const words = {
  errors: {
    invalid_client: {
      title: 'This application is not known here',
      text: 'It may have been removed, or its organisation is disabled. Tell whoever looks after the application.',
    },
    invalid_redirect_uri: {
      title: 'You cannot be sent back to this address',
      text: 'The application asked to send you to an address that is not registered for it. It may be set up wrongly, or somebody is trying to trick you.',
    },
    invalid_request: wrongApplication,
    invalid_scope: wrongApplication,
    invalid_target: wrongApplication,
    unauthorized_client: wrongApplication,
    unsupported_response_type: wrongApplication,
    server_error: {
      title: 'Something went wrong',
      text: 'The mistake is on our side, and nothing was changed. Go back to the application and try again in a minute.',
    },
    session_not_found: {
      title: 'This sign-in has ended',
      text: 'It took too long, was finished in another tab, or your browser keeps no cookies for this page. Go back to the application and start again.',
    },
  } as Record<string, { title: string; text: string }>,
  otherError: {
    title: 'You cannot be signed in',
    text: 'Go back to the application and start again.',
  },
  federated:
    'You could not be signed in with the account of your organisation. Try again, or ask whoever looks after your account.',
  forDevelopers: 'For whoever looks after the application:',
  openid: 'know who you are',
  profile: 'see your name and username',
  email: 'see your e-mail address',
  offline_access: 'stay signed in for you when you are not there',
}
