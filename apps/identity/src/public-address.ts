export interface PublicAddress {
  /** The path without a slash at its end; usually empty. The reverse proxy strips it. */
  prefix: string
  /** Whether cookies are restricted to https. */
  secure: boolean
}

/** Returns the parts of `IDENTITY_PUBLIC_URL` that pages and cookies need. */
export function parsePublicAddress(publicUrl: string): PublicAddress {
  const { pathname, protocol } = new URL(publicUrl)
  return { prefix: pathname.replace(/\/$/, ''), secure: protocol === 'https:' }
}
