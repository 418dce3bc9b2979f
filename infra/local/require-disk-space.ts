import { statfs } from 'node:fs/promises'
import { Refusal } from '../user-error.ts'

/** With less free space, PostgreSQL may fail during its first start. */
const LEAST_MEGABYTES = 200

/** Throws Refusal if the disk of `folder` is nearly full. */
export const requireSpace = async (folder: string, least = LEAST_MEGABYTES): Promise<void> => {
  const { bavail, bsize } = await statfs(folder)
  const free = Math.floor((bavail * bsize) / 1e6)
  if (free >= least) return
  throw new Refusal(
    `The disk under ${folder} has ${free} MB free and Sluice needs ${least} MB to start: free some space.`,
  )
}
