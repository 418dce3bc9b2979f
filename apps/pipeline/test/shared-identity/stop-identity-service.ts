import { rm } from 'node:fs/promises'
import { stopSwift } from '@sluice/testing/shared-openstack-swift'
import { keptAlive, sharedIdentity } from './shared-identity-service.ts'

/** After the last test file. */
// oxlint-disable-next-line import/no-default-export -- as jest wants it
export default async function stop(): Promise<void> {
  await stopSwift()
  const { running } = sharedIdentity
  if (!running) return
  await running.program.stop()
  await keptAlive(running.database.drop())
  await rm(running.folder, { recursive: true })
}
