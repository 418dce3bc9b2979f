import { statfs } from 'node:fs/promises'
import { Refusal } from '../refusal.ts'

/** Below this PostgreSQL may stop in the middle of its first start. */
const LEAST_MEGABYTES = 200

/** Throws Refusal when the disk under `folder` is nearly full. */
export const requireSpace = async (folder: string, least = LEAST_MEGABYTES): Promise<void> => {
  const { bavail, bsize } = await statfs(folder)
  const free = Math.floor((bavail * bsize) / 1e6)
  if (free >= least) return
  throw new Refusal(
    `The disk under ${folder} has ${free} MB free and Sluice needs ${least} MB to start: free some space.`,
  )
}
