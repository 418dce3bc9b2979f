import { statfs } from 'node:fs/promises'
import { UserError } from '../user-error.ts'

/** With less free space, PostgreSQL may fail during its first start. */
const MIN_FREE_MEGABYTES = 200

/** Throws UserError if the disk of `folder` is nearly full. */
export const assertDiskSpace = async (folder: string, minimum = MIN_FREE_MEGABYTES): Promise<void> => {
  const { bavail, bsize } = await statfs(folder)
  const free = Math.floor((bavail * bsize) / 1e6)
  if (free >= minimum) return
  throw new UserError(
    `The disk under ${folder} has ${free} MB free and Sluice needs ${minimum} MB to start. Free some space.`,
  )
}
