/** A documented problem code. */
export interface KnownProblem {
  code: string
  status: number
  title: string
  /** When the problem occurs and how to resolve it. */
  when: string
}

/** Problems that both services use. docs/problems.md is generated from this list and the `problem-catalogue.ts` of each service. */
export const sharedProblems: readonly KnownProblem[] = [
  {
    code: 'malformed',
    status: 400,
    title: 'The request does not match its contract.',
    when: 'A field is missing, unknown, of the wrong type or out of bounds, or a search names what there is not. `errors` names every one, by JSON pointer.',
  },
  {
    code: 'unreadable-body',
    status: 400,
    title: 'The request body cannot be read.',
    when: 'It is not JSON in UTF-8, ends early, nests deeper than 32 levels, or holds a NUL character.',
  },
  {
    code: 'unauthenticated',
    status: 401,
    title: 'A valid access token is needed.',
    when: 'There is no token, it expired, or its sign-in, user, client, application or API token has ended: refresh it, or sign in again.',
  },
  {
    code: 'forbidden',
    status: 403,
    title: 'You are not allowed to do this.',
    when: 'A role is missing, the part is switched off for the organisation, somebody more powerful would be touched, or it is done in person only. `detail` says which.',
  },
  {
    code: 'not-found',
    status: 404,
    title: 'There is no such thing.',
    when: 'The address or object is not there, or belongs to another client: the two cannot be told apart.',
  },
  {
    code: 'method-not-allowed',
    status: 405,
    title: 'This address does not take this method.',
    when: 'Another method would do: `Allow` lists them.',
  },
  {
    code: 'not-acceptable',
    status: 406,
    title: 'The answer cannot be sent in the type that Accept asks for.',
    when: '`Accept` does not allow the one type that the address answers, mostly `application/json`. Nothing was done.',
  },
  {
    code: 'conflict',
    status: 409,
    title: 'The change conflicts with what is stored.',
    when: 'A name or code is taken, or the object is still in use. `errors` names the field.',
  },
  {
    code: 'stale',
    status: 412,
    title: 'Somebody changed it first.',
    when: '`If-Match` names an older version: read again, apply the change to that, send it with the new ETag.',
  },
  {
    code: 'too-large',
    status: 413,
    title: 'The request body is too large.',
    when: 'JSON is longer than 1 MiB (16 KiB where no token is needed), or an upload longer than the installation takes.',
  },
  {
    code: 'unsupported-media-type',
    status: 415,
    title: 'The request body has the wrong media type.',
    when: 'It is not `application/json` in UTF-8, it is compressed, or it is not what an upload takes.',
  },
  {
    code: 'misdirected',
    status: 421,
    title: 'This host is not served here.',
    when: 'The `Host` header is not one of this installation: see `ALLOWED_HOSTS`.',
  },
  {
    code: 'refused',
    status: 422,
    title: 'The request is well formed, but a rule refuses it.',
    when: 'What is asked would break a rule, such as removing the last super admin. `errors` names the field.',
  },
  {
    code: 'search-too-costly',
    status: 422,
    title: 'The search takes too long.',
    when: 'A list or report was looked through for longer than five seconds: ask for less at once.',
  },
  {
    code: 'too-many-requests',
    status: 429,
    title: 'Too many tries.',
    when: 'Too many failed tries to prove who one is: wait as long as `Retry-After` says.',
  },
  {
    code: 'internal',
    status: 500,
    title: 'Something went wrong on our side.',
    when: 'A bug, or a part that broke in a way nobody foresaw. Nothing was changed; the log has the reason under `requestId`.',
  },
  {
    code: 'busy',
    status: 503,
    title: 'Too many of these are under way.',
    when: 'More passwords, pages of data, previews, uploads or views are being worked on than your organisation, or the process, has at once: try again in a few seconds.',
  },
  {
    code: 'unavailable',
    status: 503,
    title: 'A part that this needs is not available.',
    when: 'A database, the warehouse or the other service does not answer: `detail` names it. Try again after `Retry-After`.',
  },
]
