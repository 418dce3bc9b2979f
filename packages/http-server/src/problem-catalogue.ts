/** A documented problem code. */
export interface KnownProblem {
  code: string
  status: number
  title: string
  /** The situation in which the problem occurs, and how to resolve it. */
  when: string
}

/**
 * Problems of both services. docs/problems.md is generated from this list and from each service's
 * `problem-catalogue.ts`.
 */
export const sharedProblems: readonly KnownProblem[] = [
  {
    code: 'malformed',
    status: 400,
    title: 'The request does not match its contract.',
    when: 'A field is missing, unknown, of the wrong type or out of bounds, or a search names an unknown property. `errors` names every one by JSON pointer.',
  },
  {
    code: 'unreadable-body',
    status: 400,
    title: 'The request body cannot be read.',
    when: 'The body is not JSON in UTF-8, is truncated, nests deeper than 32 levels, or holds a NUL character. Correct it and send it again.',
  },
  {
    code: 'unauthenticated',
    status: 401,
    title: 'A valid access token is required.',
    when: 'The token is missing or expired, or its session, user, organisation, application or API token has ended. Refresh the token, or sign in again.',
  },
  {
    code: 'forbidden',
    status: 403,
    title: 'You are not allowed to do this.',
    when: 'A role is missing, the feature is switched off for the organisation, a more powerful user would be affected, or the operation needs a sign-in in person. `detail` says which.',
  },
  {
    code: 'not-found',
    status: 404,
    title: 'Not found.',
    when: 'The address or object does not exist, or belongs to another organisation; the response is the same. Check the address.',
  },
  {
    code: 'method-not-allowed',
    status: 405,
    title: 'This address does not support this method.',
    when: 'The address supports other methods. `Allow` lists them.',
  },
  {
    code: 'not-acceptable',
    status: 406,
    title: 'The response is not available in a type that Accept allows.',
    when: '`Accept` does not allow the media type of the response, usually `application/json`. The request had no effect; change `Accept`.',
  },
  {
    code: 'conflict',
    status: 409,
    title: 'The change conflicts with stored data.',
    when: 'A name or code is taken, or the object is still in use. `errors` names the field.',
  },
  {
    code: 'stale',
    status: 412,
    title: 'The object has changed since it was read.',
    when: '`If-Match` names an older version. Read the object again, apply the change to it, and send it with the new ETag.',
  },
  {
    code: 'too-large',
    status: 413,
    title: 'The request body is too large.',
    when: 'The JSON exceeds 1 MiB (16 KiB for operations without a token), or the upload exceeds the limit of the installation. Send less at once.',
  },
  {
    code: 'unsupported-media-type',
    status: 415,
    title: 'The request body has the wrong media type.',
    when: 'The body is compressed, not `application/json` in UTF-8, or not a media type that the upload accepts. Change `Content-Type` or the body.',
  },
  {
    code: 'misdirected',
    status: 421,
    title: 'This installation does not serve this host.',
    when: 'The `Host` header is not one of this installation. Ask the operator to check `ALLOWED_HOSTS`.',
  },
  {
    code: 'refused',
    status: 422,
    title: 'The request is well formed, but violates a rule.',
    when: 'The change would break a rule, such as removing the last super admin. `errors` names the field.',
  },
  {
    code: 'search-too-costly',
    status: 422,
    title: 'The search takes too long.',
    when: 'The search of a list or report took longer than five seconds. Narrow it, or request fewer rows.',
  },
  {
    code: 'too-many-requests',
    status: 429,
    title: 'Too many attempts.',
    when: 'There were too many failed attempts to sign in or to use a code. Wait as long as `Retry-After` says.',
  },
  {
    code: 'internal',
    status: 500,
    title: 'Internal error.',
    when: 'A bug, or a component that failed unexpectedly. Nothing was changed; the log contains the reason under `requestId`.',
  },
  {
    code: 'busy',
    status: 503,
    title: 'Too many concurrent requests of this kind.',
    when: 'The organisation or the server handles too many requests of this kind at once: password checks, pages of data, previews, uploads or views. Try again in a few seconds.',
  },
  {
    code: 'unavailable',
    status: 503,
    title: 'A required component is not available.',
    when: 'A database, the warehouse or the other service does not answer; `detail` names it. Try again after `Retry-After`.',
  },
]
