/** A container, and who reads it. */
export interface AzureConfig {
  account: string
  container: string
  /** Of the blob service, with the account in its name or its path; the public cloud's when absent. */
  endpoint?: string
  /** One of them, or none for anonymous requests. */
  accountKey?: string
  sasToken?: string
}

/** The API version, which all Azure clouds and emulators support. */
export const apiVersion = '2021-12-02'

export function containerAddress({ account, container, endpoint, sasToken }: AzureConfig): URL {
  const url = new URL(endpoint ?? `https://${account}.blob.core.windows.net`)
  url.search = sasToken?.trim().replace(/^\?/, '') ?? ''
  url.hash = ''
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${container}`
  return url
}
