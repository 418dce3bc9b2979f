export interface PublicAddress {
  /** The path without a trailing slash; usually empty. The reverse proxy removes it from requests. */
  prefix: string
  /** Whether cookies are restricted to https. */
  secure: boolean
}

/** Returns the parts of the setting `IDENTITY_PUBLIC_URL` that pages and cookies need. */
export function parsePublicAddress(publicUrl: string): PublicAddress {
  const { pathname, protocol } = new URL(publicUrl)
  return { prefix: pathname.replace(/\/$/, ''), secure: protocol === 'https:' }
}
