import { randomBytes } from 'node:crypto'
import { mkdir, statfs, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { unprivilegedUser } from '../postgres/os-user.ts'
import { isOpenToAllUsers } from '../postgres/accessible-folders.ts'
import { root } from '../paths.ts'

/** The server uses about 1 GB for its WAL and 10 MB for each database; the rest is left for other programs. */
const requiredFreeBytes = 6 * 1024 ** 3

/**
 * Creates a folder in memory (`/dev/shm`) and a symbolic link to it at the path `link`. Does nothing if `/dev/shm` does
 * not exist, if less than 6 GB of memory are free, or if PostgreSQL's user cannot enter the checkout, because then
 * `prepareFolders` creates the link.
 *
 * Each test file creates and drops databases of 300 files. On ext4 without a journal a new file costs much more for
 * minutes after many files were deleted: the file system searches for an inode that was not deleted recently.
 */
export const linkToMemory = async (link: string, memory = '/dev/shm', needed = requiredFreeBytes): Promise<void> => {
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }))
  if (Math.min(bavail * bsize, process.availableMemory()) < needed) return
  await mkdir(dirname(link), { recursive: true })
  if (unprivilegedUser() && !((await isOpenToAllUsers(root)) && (await isOpenToAllUsers(dirname(link))))) return
  const folder = join(memory, `sluice-test-postgres-${process.pid}-${randomBytes(4).toString('hex')}`)
  await mkdir(folder, { mode: 0o700 })
  await symlink(folder, link)
}
