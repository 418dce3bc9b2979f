/** A container and its credentials. */
export interface AzureConfig {
  account: string
  container: string
  /** The URL of the blob service, with the account in its host name or path; the public cloud's if absent. */
  endpoint?: string
  /** Either a key or a token; neither for anonymous requests. */
  accountKey?: string
  sasToken?: string
}

/** An API version that all Azure clouds and emulators support. */
export const apiVersion = '2021-12-02'

export function containerAddress({ account, container, endpoint, sasToken }: AzureConfig): URL {
  const url = new URL(endpoint ?? `https://${account}.blob.core.windows.net`)
  url.search = sasToken?.trim().replace(/^\?/, '') ?? ''
  url.hash = ''
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${container}`
  return url
}
