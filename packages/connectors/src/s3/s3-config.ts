/** A bucket and its credentials. */
export interface S3Config {
  bucket: string
  /** Amazon's endpoint if absent. */
  endpoint?: string
  /** Detected if absent. */
  region?: string
  /** Whether the bucket is part of the path. The default depends on the kind of endpoint. */
  pathStyle?: boolean
  /** Both keys, or neither for anonymous requests. */
  accessKey?: string
  secretKey?: string
}

const usual = 'us-east-1'

export const firstRegion = ({ region }: S3Config): string => region ?? usual

/**
 * Returns the URL of the bucket in a region. The certificates of Amazon's hosts do not cover bucket names with dots, and
 * most compatible stores support buckets in paths only.
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
