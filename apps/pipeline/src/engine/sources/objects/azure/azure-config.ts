/** A container, and who reads it. */
export interface AzureConfig {
  account: string
  container: string
  /** Of the blob service, with the account in its name or its path; the public cloud's when absent. */
  endpoint?: string
  /** Either, or neither: then what anybody may read is read. */
  accountKey?: string
  sasToken?: string
}

/** Of the service's interface: what every emulator and every cloud of Azure speaks. */
export const apiVersion = '2021-12-02'

export function containerAddress({ account, container, endpoint, sasToken }: AzureConfig): URL {
  const url = new URL(endpoint ?? `https://${account}.blob.core.windows.net`)
  url.search = sasToken?.trim().replace(/^\?/, '') ?? ''
  url.hash = ''
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${container}`
  return url
}
