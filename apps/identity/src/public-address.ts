export interface PublicAddress {
  /** The path, without a slash at its end: empty for most. Whoever hands requests on to us takes it off. */
  prefix: string
  /** Cookies are for https alone. */
  secure: boolean
}

/** What pages and cookies need to know of the address that we are published at, `IDENTITY_PUBLIC_URL`. */
export function publicAddress(publicUrl: string): PublicAddress {
  const { pathname, protocol } = new URL(publicUrl)
  return { prefix: pathname.replace(/\/$/, ''), secure: protocol === 'https:' }
}
