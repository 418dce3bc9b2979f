/** A bucket, and who reads it. */
export interface S3Config {
  bucket: string
  /** Amazon's when absent. */
  endpoint?: string
  /** Found out when absent. */
  region?: string
  /** Whether the bucket goes into the path. As the endpoint's kind usually wants it when absent. */
  pathStyle?: boolean
  /** Both, or none for anonymous requests. */
  accessKey?: string
  secretKey?: string
}

const usual = 'us-east-1'

export const firstRegion = ({ region }: S3Config): string => region ?? usual

/**
 * Where the bucket is asked in that region. Names with points do not fit into the certificates of Amazon's hosts, and most compatible
 * stores know buckets in paths only.
 */
export function bucketAddress({ bucket, endpoint, pathStyle }: S3Config, region: string): URL {
  const base = new URL(endpoint ?? amazon(region))
  const inPath = pathStyle ?? (endpoint !== undefined || bucket.includes('.'))
  base.search = ''
  if (!inPath) base.hostname = `${bucket}.${base.hostname}`
  const folder = base.pathname.replace(/\/+$/, '')
  base.pathname = inPath ? `${folder}/${encodeURIComponent(bucket)}/` : `${folder}/`
  return base
}

function amazon(region: string): string {
  const country = region.startsWith('cn-') ? '.cn' : ''
  return `https://s3.${region}.amazonaws.com${country}`
}
