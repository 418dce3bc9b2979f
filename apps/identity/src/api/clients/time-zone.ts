import { problems } from '@sluice/http'

/**
 * The zone of a body as it is kept; null where none is given, which is UTC. Refuses what the runtime knows no rules for: every
 * schedule of the client would stop.
 */
export function timeZoneColumn(name: string | undefined): string | null {
  if (name === undefined) return null
  try {
    // Also knows offsets such as +02:00, which no summer changes: the contract's pattern keeps those out.
    Intl.DateTimeFormat('en', { timeZone: name })
  } catch {
    throw problems.refused(
      '/timeZone',
      `"${name}" is not a time zone: use a name of the IANA list, such as Europe/Oslo, Africa/Nairobi or UTC.`,
    )
  }
  return name
}
