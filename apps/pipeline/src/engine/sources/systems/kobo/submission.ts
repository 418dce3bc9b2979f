/** Points come as `latitude longitude altitude accuracy`, and moments without the zone that they are in. */
export function shaped(record: unknown, points: ReadonlySet<string>): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, valueOf(key, value, points)]))
}

function valueOf(key: string, value: unknown, points: ReadonlySet<string>): unknown {
  if (typeof value === 'string') {
    if (points.has(key)) return pointOf(value.trim().split(/\s+/).map(Number))
    return key === '_submission_time' && /^\d{4}-\d\d-\d\dT[\d:.]+$/.test(value) ? `${value}Z` : value
  }
  if (key === '_geolocation' && Array.isArray(value)) return pointOf(value)
  return Array.isArray(value) && !key.startsWith('_') ? value.map((one) => shaped(one, points)) : value
}

function pointOf([latitude, longitude, altitude, accuracy]: unknown[]): object {
  return Object.fromEntries(
    Object.entries({ latitude, longitude, altitude, accuracy }).filter(([, value]) => Number.isFinite(value)),
  )
}
